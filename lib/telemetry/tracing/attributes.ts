// The allow-list of span attributes. It contains no path, query, header, body, token or client address.

/** Allowed names. They follow OpenTelemetry's semantic conventions where those define a name. */
const spanAttributeNames = [
  'http.request.method',
  'http.response.status_code',
  'error.type',
  'server.address',
  'server.port',
  'router.route',
  'router.request_id',
  'router.client_id',
  'conductor.execution_id',
  'conductor.workflow',
  'conductor.workflow_version',
  'conductor.task_type',
  'conductor.task_status',
] as const;

/** An allowed attribute name. */
export type SpanAttributeName = (typeof spanAttributeNames)[number];

/** Attributes of a span; undefined values are left out. */
export type SpanAttributes = { readonly [name in SpanAttributeName]?: string | number | undefined };

const allowed: ReadonlySet<string> = new Set(spanAttributeNames);

/** Maximum length of a value; longer values are truncated. All names and codes of the product are shorter. */
const maxLength = 128;

/** Returns the allowed attributes that have a value. */
export function allowedAttributes(attributes: SpanAttributes = {}): Record<string, string | number> {
  const kept: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || !allowed.has(name)) continue;
    kept[name] = typeof value === 'string' ? value.slice(0, maxLength) : value;
  }
  return kept;
}
