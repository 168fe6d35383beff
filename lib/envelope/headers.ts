// Selects the header fields that are forwarded between client and back end, by allow-lists. Credentials, cookies and
// hop-by-hop fields (RFC 9110 section 7.6.1) never enter the engine.

/** Request fields that reach the back end; `router.requestHeaders` adds others. */
export const requestFields: readonly string[] = [
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

/** Fields of back-end responses that reach the client; `router.responseHeaders` adds others. */
export const responseFields: readonly string[] = [
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

/** Fields that are never forwarded, even when the configuration names them. */
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

/**
 * Response fields that the router itself sets. They are never taken from a back end, even when the configuration names
 * them.
 */
const ownFields = [
  'idempotency-replayed',
  'ratelimit',
  'ratelimit-policy',
  'server-timing',
  'x-execution-id',
  'x-request-id',
];

/** Header fields by lower-case name. A list has one element for each field line. */
export type HeaderFields = Record<string, string | string[]>;

/** Returns true for the lower-case name of a field that is forwarded. */
export type HeaderFilter = (name: string) => boolean;

/** Returns the filter for requests. @param extra further names, from `router.requestHeaders` */
export function requestHeaderFilter(extra: readonly string[] = []): HeaderFilter {
  return createFilter(requestFields, extra);
}

/** Returns the filter for responses. @param extra further names, from `router.responseHeaders` */
export function responseHeaderFilter(extra: readonly string[] = []): HeaderFilter {
  return createFilter(responseFields, extra, ownFields);
}

function createFilter(builtIn: readonly string[], extra: readonly string[], own: readonly string[] = []): HeaderFilter {
  const names = [...builtIn, ...extra.map((name) => name.toLowerCase())];
  const allowed = new Set(names.filter((name) => !forbidden.has(name) && !own.includes(name)));
  return (name) => allowed.has(name);
}

/**
 * Returns the allowed fields with lower-case names, except for fields that `Connection` lists (RFC 9110 section 7.6.1).
 */
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

/**
 * Returns the names in `Connection`. Usually `Connection` contains only `keep-alive` or `close`; no field with these
 * names is forwarded.
 */
function namedByConnection(value: unknown): string[] {
  return value === undefined
    ? []
    : String(value)
        .toLowerCase()
        .split(',')
        .map((name) => name.trim());
}

/**
 * Returns the size of header fields in bytes, as HTTP/1.1 writes them (RFC 9112 section 5): `name: value` and CRLF for
 * each field line.
 */
export function sizeOfHeaders(fields: HeaderFields): number {
  return Object.entries(fields).reduce(
    (size, [name, value]) => size + [value].flat().reduce((sum, line) => sum + name.length + line.length + 4, 0),
    0,
  );
}
