// Compares the output that a page shows with the real output. Parts that differ from run to run must have the same
// shape.

/** Ids of this run, by the ids on the page. An id that a page shows twice must be the same in both places. */
export type Ids = Map<string, string>;

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** Patterns of strings that differ from run to run: in the shown output, and in the real output. */
const varying: readonly (readonly [shown: RegExp, real: RegExp])[] = [
  [uuid, uuid],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/, /\d{4}-\d\d-\d\dT[\d:.]+Z/],
  [/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT/, /[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT/],
  [/\+?\d+(?:\.\d+)? m?s\b/, /(?:\+?\d+(?:\.\d+)? (?:ms|s|min)|-)/],
  // In the steps of an execution, the column `waited` shows a dash when the wait is unknown.
  [/(?<= )-(?= )/, /(?:-|\d+ m?s)/],
  [/\bplan [0-9a-f]{12}\b/, /plan [0-9a-f]{12}/],
  [/\bvm:\d+\b/, /[\w.-]+:\d+/],
  [/\(Java \d+\)/, /\((?:Java \d+|Docker|given by conductor.url)\)/],
  [/\b[rt]=\d+\b/, /[rt]=\d+/],
  [/\d+ (?=running|failed|timed out)/, /\d+ /],
  [/[\w+/]{43}=/, /[\w+/]{43}=/],
  [/ ?\.\.\./, /.*/],
];
const anyVarying = new RegExp(varying.map(([shown]) => `(${shown.source})`).join('|'), 'g');

/**
 * Returns undefined when the real output is as shown, otherwise a description of the difference.
 * @param language language of the block. For `http`, the response must have the header fields that the block shows, and
 *   may have others. In every block, JSON may be formatted differently
 * @param ids ids found so far; new ones are added
 */
export function differenceOf(shown: string, real: string, { language, ids }: { language: string; ids: Ids }) {
  return language === 'http' ? differenceOfResponse(shown, real, ids) : differenceOfText(shown, real, ids);
}

function differenceOfText(shown: string, real: string, ids: Ids): string | undefined {
  const pattern = plain(shown);
  const text = plain(real);
  const shownIds: string[] = [];
  let source = '';
  let end = 0;
  for (const match of pattern.matchAll(anyVarying)) {
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    const isId = kind === 0;
    if (isId) shownIds.push(match[0]);
    const shape = varying[kind]![1].source;
    source += escaped(pattern.slice(end, match.index)) + (isId ? `(${shape})` : `(?:${shape})`);
    end = match.index + match[0].length;
  }
  const found = new RegExp(`^${source}${escaped(pattern.slice(end))}$`).exec(text);
  if (found === null) return `shown:\n${pattern}\nreal:\n${text}`;
  for (const [index, id] of shownIds.entries()) {
    const realId = found[index + 1]!;
    const known = ids.get(id);
    if (known !== undefined && known !== realId)
      return `the id ${id} of the page is ${known} above, and here ${realId}`;
    ids.set(id, realId);
  }
  return undefined;
}

function differenceOfResponse(shown: string, real: string, ids: Ids): string | undefined {
  const [shownHead, shownBody] = partsOf(shown);
  const [realHead, realBody] = partsOf(real);
  const lines = new Map(realHead.map((line) => [nameOf(line), line]));
  const fields = shownHead.map((line) => {
    const found = lines.get(nameOf(line));
    const valueOf = (text: string) => text.slice(nameOf(text).length);
    return found === undefined ? `not in the response: ${line}` : differenceOfText(valueOf(line), valueOf(found), ids);
  });
  const body = shownBody === '' ? undefined : differenceOfText(shownBody, realBody, ids);
  return [...fields, body].find((difference) => difference !== undefined);
}

function partsOf(response: string): [head: string[], body: string] {
  const [head = '', ...body] = response.replaceAll('\r', '').split('\n\n');
  return [head.trim().split('\n'), body.join('\n\n')];
}

/** Returns the name of a header field in lower case; empty for the status line. */
function nameOf(line: string): string {
  return /^[\w-]+(?=:)/.exec(line)?.[0].toLowerCase() ?? '';
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Returns the text with JSON on one line, and with two spaces between columns. */
function plain(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text
      .split('\n')
      .map((line) => line.trimEnd().replaceAll(/(?<=\S) {2,}/g, '  '))
      .join('\n')
      .trim();
  }
}
