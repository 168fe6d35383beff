// Prometheus metrics of this plugin.

import { Counter, type Registry } from 'prom-client';

/** Counters by `result`, whose values are a fixed set. */
export interface OAuthMetrics {
  /** Access tokens checked; `result`: valid, cached, unavailable, busy, or why the token was refused. */
  readonly tokensChecked: Counter<'result'>;
  /** Token requests; `result`: issued, limited, unavailable, or the error code of RFC 6749 section 5.2. */
  readonly tokenRequests: Counter<'result'>;
  /** Fetches of the key set; `result`: ok, or the kind of failure. */
  readonly keyFetches: Counter<'result'>;
  /** Introspections of opaque tokens; `result`: active, inactive, or the kind of failure. */
  readonly introspections: Counter<'result'>;
}

/** Creates the counters and registers them in `registry`. */
export function createMetrics(registry: Registry): OAuthMetrics {
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['result'], registers: [registry] });
  return {
    tokensChecked: counter(
      'router_access_tokens_checked_total',
      'Access tokens checked: valid, cached, unavailable, busy (too many introspections), or why a token was refused',
    ),
    tokenRequests: counter(
      'router_token_requests_total',
      'Token requests: issued, limited, unavailable, or the OAuth error',
    ),
    keyFetches: counter(
      'router_key_set_fetches_total',
      "Fetches of the identity provider's key set: ok, or what failed",
    ),
    introspections: counter(
      'router_introspections_total',
      'Introspections of opaque access tokens: active, inactive, or what failed',
    ),
  };
}
