// Reads or replaces top-level members in JSON text without reformatting values, so that numbers keep their precision.

/** The position of a member's value in the text. */
interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces the value of every top-level member that has the given name.
 * @param json text of an object, valid for JSON.parse
 * @param value new value, a string
 * @returns the text with all other bytes unchanged
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
 * Sets a top-level member: replaces its value, or inserts the member at the start of the object.
 * @param json text of an object that has members, valid for JSON.parse
 * @param value new value, a string
 */
export function setMember(json: string, name: string, value: string): string {
  if (memberText(json, name) !== undefined) return replaceMember(json, name, value);
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `{${member},${json.slice(skipSpace(json, 0) + 1)}`;
}

/**
 * Returns the text of a top-level member's value. If the name is repeated, the last member counts, as in JSON.parse.
 * @param json text of an object, valid for JSON.parse
 * @returns undefined when there is no such member
 */
export function memberText(json: string, name: string): string | undefined {
  let text: string | undefined;
  for (const member of topMembers(json)) if (member.name === name) text = json.slice(member.start, member.end);
  return text;
}

/** Yields the top-level members of an object, in order. */
function* topMembers(json: string): Generator<Member> {
  let position = skipSpace(json, 0) + 1;
  for (;;) {
    const start = skipSpace(json, position);
    if (json[start] !== '"') return;
    const nameEnd = endOfString(json, start);
    const valueStart = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = endOfValue(json, valueStart);
    yield { name: JSON.parse(json.slice(start, nameEnd)) as string, start: valueStart, end };
    // Continue after the comma, or after the closing brace.
    position = skipSpace(json, end) + 1;
  }
}

/** Returns the index after the value that starts at `start`. */
function endOfValue(json: string, start: number): number {
  if (json[start] === '"') return endOfString(json, start);
  let position = start;
  if (json[start] !== '{' && json[start] !== '[') {
    while (/[-+.\w]/.test(json[position] ?? '')) position++;
    return position;
  }
  let depth = 0;
  do {
    const char = json[position];
    if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    position = char === '"' ? endOfString(json, position) : position + 1;
  } while (depth > 0);
  return position;
}

function skipSpace(json: string, start: number): number {
  let position = start;
  while (json[position] === ' ' || json[position] === '\n' || json[position] === '\r' || json[position] === '\t')
    position++;
  return position;
}

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfString(json: string, start: number): number {
  let end = start;
  do end = json.indexOf('"', end + 1);
  while (isEscaped(json, end));
  return end + 1;
}

/** True for a character that follows an odd number of backslashes. */
function isEscaped(json: string, position: number): boolean {
  let backslashes = 0;
  while (json[position - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}
