// Formats Markdown tables, fenced blocks and code spans.

/** Returns a table. A `|` in a cell is escaped; empty cells are allowed. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Returns a fenced code block. */
export function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Returns a code span. */
export function code(text: string): string {
  return `\`${text}\``;
}
