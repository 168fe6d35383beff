// The notation of bytes in the corpus: every byte is visible, and no editor changes it.
//
//   = title
//   < 400 malformed-request     an expected response, in order; `100` for an interim response
//   < closed                    or `kept`: what happens to the connection
//   > POST /wire/{marker} body  a request that the back end must receive; without such a line, it must receive none
//   POST / HTTP/1.1\r\n         everything else is bytes: line ends of the file do not count
//
// Escapes: \r \n \t \0 \\ \xHH. {token}: an access token. {marker}: a new value each time. {3*ab}: ababab.

export interface ExpectedAnswer {
  status: number;
  /** Code of the problem document, or `error` of RFC 6749; undefined when the response has neither. */
  code: string | undefined;
}

/** One file of the corpus. */
export interface WireCase {
  title: string;
  answers: ExpectedAnswer[];
  closed: boolean;
  /** `METHOD target body` of each request that the back end must receive, with `{marker}` not replaced yet. */
  backEnd: string[];
  /** The bytes in this notation, with escapes and placeholders. */
  notation: string;
}

export function parseCase(text: string): WireCase {
  const found: WireCase = { title: '', answers: [], closed: false, backEnd: [], notation: '' };
  for (const line of text.split('\n')) {
    const rest = line.slice(2);
    if (line.startsWith('= ')) found.title = rest;
    else if (line === '< closed' || line === '< kept') found.closed = rest === 'closed';
    else if (line.startsWith('< ')) found.answers.push({ status: Number(rest.slice(0, 3)), code: rest.split(' ')[1] });
    else if (line.startsWith('> ')) found.backEnd.push(rest);
    else found.notation += line;
  }
  return found;
}

const escapes: Readonly<Record<string, string>> = { r: '\r', n: '\n', t: '\t', 0: '\0', '\\': '\\' };

/** Returns the bytes of a notation. @param values values of `{token}` and `{marker}` */
export function toBytes(notation: string, values: Readonly<Record<string, string>>): Buffer {
  const filled = notation
    .replace(/\{(token|marker)\}/g, (_, name: string) => values[name] ?? '')
    .replace(/\{(\d+)\*([^{}]*)\}/g, (_, count: string, part: string) => part.repeat(Number(count)));
  const text = filled.replace(/\\(?:x([0-9a-f]{2})|([rnt0\\]))/gi, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (escapes[letter] as string) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(text, 'latin1');
}

/** Returns bytes in this notation, with one line per line of HTTP. */
export function toNotation(bytes: Buffer): string {
  return [...bytes.toString('latin1')]
    .map((character) => {
      const letter = Object.keys(escapes).find((name) => escapes[name] === character);
      if (letter !== undefined) return character === '\n' ? '\\n\n' : `\\${letter}`;
      const code = character.charCodeAt(0);
      return code < 0x20 || code > 0x7e ? `\\x${code.toString(16).padStart(2, '0')}` : character;
    })
    .join('');
}
