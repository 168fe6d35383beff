// Takes out of a text whatever may be a credential or tell who a person is. It removes too much rather than too little.

/** Longer texts are cut: what matters of an error is at the front. */
const maxLength = 500;

const removed = '[removed]';
const isUuid = (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

const isMixed = (text: string) => [/\d/, /[a-z]/, /[A-Z]/].every((kind) => kind.test(text));

const rules: readonly (readonly [pattern: RegExp, replacement: string | ((match: string) => string)])[] = [
  // Quotations: parsers quote what they read, up to a whole body.
  [/"[^"]*(?:"|$)/g, `"${removed}"`],
  [/\b(bearer|basic)\s+\S+/gi, `$1 ${removed}`],
  [/\beyJ[\w-]+(?:\.[\w-]*)*/g, removed],
  [/[^\s@,;:<>()]+@[^\s@,;<>()]+/g, removed],
  // Queries and forms, with or without the path in front of them.
  [/\?[^\s'`)\]}]+/g, `?${removed}`],
  [/([\w.-]+)=[^\s&,;'`)\]}]+/g, `$1=${removed}`],
  [/(\/persons\/)[^\s/?'`]+/g, `$1${removed}`],
  // Base64, its slashes included; a path of that length has no digits or no capitals.
  [/[A-Za-z0-9+/]{32,}={0,2}/g, (word) => (isMixed(word) ? removed : word)],
  // Long words with a digit are keys of some sort; UUIDs are ours, and worth keeping.
  [/[A-Za-z0-9_~+-]{20,}/g, (word) => (isUuid(word) || !/\d/.test(word) ? word : removed)],
  [/\b[A-Z]{3}\d{4}\b/g, removed],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, (address) => (address === '127.0.0.1' ? address : removed)],
  // An amount of time or of bytes tells of nobody.
  [
    /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{5,}(?!\d| (?:ms|s|bytes)\b)/gi,
    (match) => (isUuid(match) ? match : removed),
  ],
];

/** The text without tokens, secrets, e-mail and network addresses, query strings, quotations and long numbers. */
export function scrubText(text: string): string {
  // A word that is cut in two would no longer be recognised: it goes as a whole.
  const start = text.length > 4 * maxLength ? text.slice(0, 4 * maxLength).replace(/\S*$/, '') : text;
  const scrubbed = rules.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement as string), start);
  return scrubbed.length > maxLength ? `${scrubbed.slice(0, maxLength)}…` : scrubbed;
}
