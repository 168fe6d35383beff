// Which header fields travel between client and back end: an allow-list each way, so that credentials, cookies and
// hop-by-hop fields (RFC 9110 section 7.6.1) never enter the engine.

const requestFields = [
  'accept',
  'accept-charset',
  'accept-language',
  'content-encoding',
  'content-language',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'prefer',
  'range',
  'user-agent',
];

const responseFields = [
  'accept-ranges',
  'allow',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-range',
  'content-type',
  'deprecation',
  'etag',
  'expires',
  'last-modified',
  'link',
  'location',
  'preference-applied',
  'retry-after',
  'sunset',
  'vary',
  'x-total-count',
];

/** Never passed on, not even when configuration asks for it. */
const forbidden = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-authorization',
  'x-workflow-version',
]);

export type HeaderFields = Record<string, string | string[]>;

/** Tells whether a lower-case field name may travel. */
export type HeaderFilter = (name: string) => boolean;

/** The filter for requests. @param extra more names, from `router.requestHeaders` */
export function requestHeaderFilter(extra: readonly string[] = []): HeaderFilter {
  return createFilter(requestFields, extra);
}

/** The filter for answers. @param extra more names, from `router.responseHeaders` */
export function responseHeaderFilter(extra: readonly string[] = []): HeaderFilter {
  return createFilter(responseFields, extra);
}

function createFilter(builtIn: readonly string[], extra: readonly string[]): HeaderFilter {
  const allowed = new Set(
    [...builtIn, ...extra.map((name) => name.toLowerCase())].filter((name) => !forbidden.has(name)),
  );
  return (name) => allowed.has(name);
}

/** Picks the allowed fields, without those that `Connection` names (RFC 9110 section 7.6.1); names become lower case. */
export function pickHeaders(fields: Readonly<Record<string, unknown>>, allows: HeaderFilter): HeaderFields {
  const picked: HeaderFields = {};
  const hopByHop = namedByConnection(fields['connection']);
  for (const [name, value] of Object.entries(fields)) {
    const lower = name.toLowerCase();
    if (!allows(lower) || hopByHop.includes(lower) || value === undefined || value === null) continue;
    picked[lower] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return picked;
}

/** Most requests say nothing but `keep-alive` or `close`, which are no fields. */
function namedByConnection(value: unknown): string[] {
  return value === undefined
    ? []
    : String(value)
        .toLowerCase()
        .split(/[ \t]*,[ \t]*/);
}

/** Bytes of header fields as HTTP/1.1 writes them: `name: value` and a line end each. */
export function sizeOfHeaders(fields: HeaderFields): number {
  return Object.entries(fields).reduce(
    (size, [name, value]) => size + [value].flat().reduce((sum, line) => sum + name.length + line.length + 4, 0),
    0,
  );
}
