// Reads and replaces the generated part of a page, which stands between two comments.

const begin = '<!-- generated: npm run docs:cli -->';
const end = '<!-- end of generated -->';

/** Returns the generated part without its comments. @throws Error when the page has none */
export function readGeneratedPart(page: string): string {
  const { from, to } = findPart(page);
  return page.slice(from, to).trim();
}

/** Returns the page with its generated part replaced. @throws Error when the page has none */
export function replaceGeneratedPart(page: string, part: string): string {
  const { from, to } = findPart(page);
  return `${page.slice(0, from)}\n\n${part}\n\n${page.slice(to)}`;
}

function findPart(page: string): { from: number; to: number } {
  const start = page.indexOf(begin);
  const to = page.indexOf(end);
  if (start === -1 || to < start) throw new Error(`the page has no ${begin} … ${end}`);
  return { from: start + begin.length, to };
}
