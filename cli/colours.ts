// Colours of the CLI: lines carry them, and what is not a terminal never sees them.

import { stripVTControlCharacters, styleText } from 'node:util';

/** What a piece of text means, whatever it looks like. */
export type Meaning = keyof typeof styles;

const styles = {
  heading: 'bold',
  faint: 'dim',
  added: 'green',
  removed: 'red',
  changed: 'yellow',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
} as const;

/** Marks a text. Outcomes and `show` may hold it always: where it goes decides whether it stays (`fitStream`). */
export function paint(meaning: Meaning, text: string): string {
  return styleText(styles[meaning], text, { validateStream: false });
}

/** The lines as this stream shows them: without colours unless it is a terminal that has them and NO_COLOR is not set. */
export function fitStream(lines: readonly string[], stream: NodeJS.WritableStream): string {
  const text = `${lines.join('\n')}\n`;
  const hasColours = styleText('bold', '.', { stream }) !== '.';
  return hasColours ? text : stripVTControlCharacters(text);
}

/** How many columns a text takes. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Text that somebody else wrote, for a terminal: what it could take for a command is spelled out, as in `\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /[\x00-\x1f\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
