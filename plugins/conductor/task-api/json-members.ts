// Reads or changes one member at the top of a JSON object and leaves every byte of its value as it was written: numbers above all.

/** Where the value of a member stands in the text. */
interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces the value of each member of a name.
 * @param json text of an object that JSON.parse takes
 * @param value new value, a string; everything else stays as it is
 */
export function replaceMember(json: string, name: string, value: string): string {
  let changed = '';
  let copied = 0;
  for (const member of topMembers(json)) {
    if (member.name !== name) continue;
    changed += json.slice(copied, member.start) + JSON.stringify(value);
    copied = member.end;
  }
  return changed + json.slice(copied);
}

/**
 * The value of a member as it was written, of the last one where several have the name, as JSON.parse chooses.
 * @param json text of an object that JSON.parse takes
 * @returns undefined when there is none
 */
export function memberText(json: string, name: string): string | undefined {
  let text: string | undefined;
  for (const member of topMembers(json)) if (member.name === name) text = json.slice(member.start, member.end);
  return text;
}

/** The members at the top of an object, in their order. */
function* topMembers(json: string): Generator<Member> {
  let at = skipSpace(json, 0) + 1;
  for (;;) {
    const start = skipSpace(json, at);
    if (json[start] !== '"') return;
    const nameEnd = endOfString(json, start);
    const valueStart = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = endOfValue(json, valueStart);
    yield { name: JSON.parse(json.slice(start, nameEnd)) as string, start: valueStart, end };
    // Behind the comma, or behind the brace that ends the object.
    at = skipSpace(json, end) + 1;
  }
}

/** Behind the value that begins at `start`. */
function endOfValue(json: string, start: number): number {
  if (json[start] === '"') return endOfString(json, start);
  let at = start;
  if (json[start] !== '{' && json[start] !== '[') {
    while (/[-+.\w]/.test(json[at] ?? '')) at++;
    return at;
  }
  let depth = 0;
  do {
    const char = json[at];
    if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    at = char === '"' ? endOfString(json, at) : at + 1;
  } while (depth > 0);
  return at;
}

function skipSpace(json: string, start: number): number {
  let at = start;
  while (json[at] === ' ' || json[at] === '\n' || json[at] === '\r' || json[at] === '\t') at++;
  return at;
}

/** Behind the closing quote of the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  let end = start;
  do end = json.indexOf('"', end + 1);
  while (isEscaped(json, end));
  return end + 1;
}

/** After an odd number of backslashes. */
function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}
