// Changes one member of a JSON object and leaves every other byte as it was written: numbers above all.

/**
 * @param json text of an object; JSON.parse takes it
 * @param name of a member at its top, whose value is a string; every one of that name is changed
 * @param value the new text
 */
export function replaceMember(json: string, name: string, value: string): string {
  let changed = '';
  let copied = 0;
  let depth = 0;
  let isName = false;
  let isNamed = false;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    // At the top a string is a name after the brace and after each comma.
    if (depth === 1 && (char === '{' || char === ',')) isName = true;
    if (char !== '"') continue;
    const end = endOfString(json, at);
    if (isNamed) {
      changed += json.slice(copied, at) + JSON.stringify(value);
      copied = end;
      isNamed = false;
    } else if (depth === 1 && isName) {
      isNamed = JSON.parse(json.slice(at, end)) === name;
      isName = false;
    }
    at = end - 1;
  }
  return changed + json.slice(copied);
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
