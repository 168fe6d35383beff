// Creates the components of this plugin from the configuration, in the order of their dependencies.

import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { AccessTokens } from './access-token/access-tokens.ts';
import { Introspection, maxIntrospections } from './access-token/introspection.ts';
import { JwtVerifier } from './access-token/jwt-verifier.ts';
import type { Clock } from './clock.ts';
import type { OAuthMetrics } from './metrics.ts';
import { ProviderHttp } from './provider/provider-http.ts';
import { ProviderMetadata } from './provider/provider-metadata.ts';
import { RemoteKeys } from './provider/remote-keys.ts';
import { readSettings } from './settings.ts';
import { ClientCredentialsGrant } from './token/client-credentials-grant.ts';

/** The identity provider that the `oauth.*` keys describe, with its keys and verified tokens. */
export interface OAuth2 {
  readonly keys: RemoteKeys;
  readonly accessTokens: AccessTokens;
  readonly grant: ClientCredentialsGrant;
  /** Stops timers and closes connections. */
  stop(): Promise<void>;
}

/** Settings of {@link createOAuth2}. */
export interface OAuth2Options {
  /** Only the keys `oauth.*` are read. */
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: OAuthMetrics;
  readonly clock: Clock;
}

/**
 * Creates the components. Nothing is fetched before `keys.start()`.
 * @throws Error that lists every invalid setting
 */
export function createOAuth2({ config, log, metrics, clock }: OAuth2Options): OAuth2 {
  const { issuer, rules, introspection: introspectionClient } = readSettings(config);
  const timeoutMs = config['oauth.timeoutMs'];
  // Each kind of call has its own connections, so that a flood of one kind cannot block the others.
  const keysHttp = new ProviderHttp({ timeoutMs, connections: 2 });
  const tokenHttp = new ProviderHttp({ timeoutMs, connections: 32 });
  const introspectionHttp = new ProviderHttp({ timeoutMs, connections: maxIntrospections });
  const metadata = new ProviderMetadata({ config, issuer, http: keysHttp, clock });
  const cacheMs = Math.max(1, config['oauth.jwksCacheSeconds']) * 1000;
  const keys = new RemoteKeys({ algorithms: rules.algorithms, cacheMs, metadata, http: keysHttp, clock, metrics, log });
  const verifier = new JwtVerifier({ rules, keys, clock });
  const introspection =
    introspectionClient &&
    new Introspection({ ...introspectionClient, rules, http: introspectionHttp, clock, metrics });
  return {
    keys,
    accessTokens: new AccessTokens({ verifier, introspection, metrics }),
    grant: new ClientCredentialsGrant({ config, metadata, http: tokenHttp }),
    async stop() {
      keys.stop();
      await Promise.all([keysHttp, tokenHttp, introspectionHttp].map((http) => http.close()));
    },
  };
}
