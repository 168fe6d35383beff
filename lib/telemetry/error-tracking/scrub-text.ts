// Removes credentials and personal data from free text. When in doubt, the rules remove too much rather than too
// little.

/**
 * Maximum length of a result. Longer strings are truncated, because the relevant part of an error message is its
 * beginning.
 */
const maxLength = 500;

const removed = '[removed]';
const isUuid = (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

const isMixed = (text: string) => [/\d/, /[a-z]/, /[A-Z]/].every((kind) => kind.test(text));

const rules: readonly (readonly [pattern: RegExp, replacement: string | ((match: string) => string)])[] = [
  // Quotations, because parsers quote their input, sometimes a whole body.
  [/"[^"]*(?:"|$)/g, `"${removed}"`],
  [/\b(bearer|basic)\s+\S+/gi, `$1 ${removed}`],
  [/\beyJ[\w-]+(?:\.[\w-]*)*/g, removed],
  [/[^\s@,;:<>()]+@[^\s@,;<>()]+/g, removed],
  // Query strings and forms, with or without a path before them.
  [/\?[^\s'`)\]}]+/g, `?${removed}`],
  [/([\w.-]+)=[^\s&,;'`)\]}]+/g, `$1=${removed}`],
  [/(\/persons\/)[^\s/?'`]+/g, `$1${removed}`],
  // Base64, including its slashes. A path of that length is usually kept, because it lacks digits or capitals.
  [/[A-Za-z0-9+/]{32,}={0,2}/g, (word) => (isMixed(word) ? removed : word)],
  // Long words with a digit may be keys. UUIDs are kept: the product uses them as request and execution ids.
  [/[A-Za-z0-9_~+-]{20,}/g, (word) => (isUuid(word) || !/\d/.test(word) ? word : removed)],
  [/\b[A-Z]{3}\d{4}\b/g, removed],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, (address) => (address === '127.0.0.1' ? address : removed)],
  // Long numbers. Durations and byte counts are kept, because they are not personal data.
  [
    /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{5,}(?!\d| (?:ms|s|bytes)\b)/gi,
    (match) => (isUuid(match) ? match : removed),
  ],
];

/**
 * Returns the text without tokens, secrets, e-mail and network addresses, query strings, quotations and long numbers,
 * truncated to 500 characters.
 */
export function scrubText(text: string): string {
  // The rules would not recognise a truncated word, so a word that is cut off at the end is removed.
  const start = text.length > 4 * maxLength ? text.slice(0, 4 * maxLength).replace(/\S*$/, '') : text;
  const scrubbed = rules.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement as string), start);
  return scrubbed.length > maxLength ? `${scrubbed.slice(0, maxLength)}…` : scrubbed;
}
