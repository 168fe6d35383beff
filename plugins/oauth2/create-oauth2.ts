// Builds the parts of this plugin from the configuration, in the order they depend on each other.

import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { AccessTokens } from './access-token/access-tokens.ts';
import { Introspection } from './access-token/introspection.ts';
import { JwtVerifier } from './access-token/jwt-verifier.ts';
import type { Clock } from './clock.ts';
import type { OAuthMetrics } from './metrics.ts';
import { ProviderHttp } from './provider/provider-http.ts';
import { ProviderMetadata } from './provider/provider-metadata.ts';
import { RemoteKeys } from './provider/remote-keys.ts';
import { readSettings } from './settings.ts';
import { ClientCredentialsGrant } from './token/client-credentials-grant.ts';

/** What the `oauth.*` keys describe: an identity provider, and what is known of it and of its tokens. */
export interface OAuth2 {
  readonly keys: RemoteKeys;
  readonly accessTokens: AccessTokens;
  readonly grant: ClientCredentialsGrant;
  /** Ends timers and connections. */
  stop(): Promise<void>;
}

export interface OAuth2Options {
  /** Nothing but `oauth.*` is read. */
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: OAuthMetrics;
  readonly clock: Clock;
}

/** Nothing is fetched before `keys.start()`. @throws Error that lists every setting that is wrong */
export function createOAuth2({ config, log, metrics, clock }: OAuth2Options): OAuth2 {
  const { issuer, rules, introspection: introspectionClient } = readSettings(config);
  const timeoutMs = config['oauth.timeoutMs'];
  // Keys have connections of their own: a flood of token requests must not keep them from being fetched.
  const keysHttp = new ProviderHttp({ timeoutMs, connections: 2 });
  const callsHttp = new ProviderHttp({ timeoutMs, connections: 32 });
  const metadata = new ProviderMetadata({ config, issuer, http: keysHttp, clock });
  const cacheMs = Math.max(1, config['oauth.jwksCacheSeconds']) * 1000;
  const keys = new RemoteKeys({ algorithms: rules.algorithms, cacheMs, metadata, http: keysHttp, clock, metrics, log });
  const verifier = new JwtVerifier({ rules, keys, clock });
  const introspection =
    introspectionClient && new Introspection({ ...introspectionClient, rules, http: callsHttp, clock, metrics });
  return {
    keys,
    accessTokens: new AccessTokens({ verifier, introspection, metrics }),
    grant: new ClientCredentialsGrant({ config, metadata, http: callsHttp }),
    async stop() {
      keys.stop();
      await Promise.all([keysHttp.close(), callsHttp.close()]);
    },
  };
}
