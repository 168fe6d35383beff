// Builds the parts of this plugin from the configuration, in the order they depend on each other.

import { createClientAddress } from '../../gateway/client-address.ts';
import type { RouterServices } from '../../gateway/contract.ts';
import { AccessTokens } from './access-token/access-tokens.ts';
import { Introspection } from './access-token/introspection.ts';
import { JwtVerifier } from './access-token/jwt-verifier.ts';
import type { Clock } from './clock.ts';
import { createMetrics } from './metrics.ts';
import { ProviderHttp } from './provider/provider-http.ts';
import { ProviderMetadata } from './provider/provider-metadata.ts';
import { RemoteKeys } from './provider/remote-keys.ts';
import { readSettings } from './settings.ts';
import { AttemptLimit } from './token/attempt-limit.ts';
import { ClientCredentialsGrant } from './token/client-credentials-grant.ts';
import type { TokenPolicyParts } from './token.ts';

export interface OAuth2 {
  readonly keys: RemoteKeys;
  readonly accessTokens: AccessTokens;
  readonly token: TokenPolicyParts;
  /** Ends timers and connections. */
  stop(): Promise<void>;
}

/** Nothing is fetched before `keys.start()`. @throws Error that lists every setting that is wrong */
export function createOAuth2(services: Pick<RouterServices, 'config' | 'log' | 'metrics'>, clock: Clock): OAuth2 {
  const { config, log } = services;
  const { issuer, rules, introspection: introspectionClient } = readSettings(config);
  const metrics = createMetrics(services.metrics);
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
  const addressOf = createClientAddress(config['router.trustedProxies']);
  const grant = new ClientCredentialsGrant({ config, metadata, http: callsHttp });
  return {
    keys,
    accessTokens: new AccessTokens({ verifier, introspection, metrics }),
    token: { grant, limit: new AttemptLimit(clock, timeoutMs), addressOf, metrics },
    async stop() {
      keys.stop();
      await Promise.all([keysHttp.close(), callsHttp.close()]);
    },
  };
}
