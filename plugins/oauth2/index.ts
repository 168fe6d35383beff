// The oauth2 plugin: policy `token` issues access tokens, policy `bearer` checks them.

import type { Config } from '#lib/config/schema.ts';
import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { bearerDeclaration, bearerPolicy } from './bearer.ts';
import { type Clock, systemClock } from './clock.ts';
import { createOAuth2 } from './create-oauth2.ts';
import { createMetrics } from './metrics.ts';
import { AttemptLimit } from './token/attempt-limit.ts';
import { tokenDeclaration, tokenPolicy } from './token.ts';

/** Version of the policies' names and parameters. */
export const version = '1.1.0';

/** Policies that the plugin registers. */
export const policies = [tokenDeclaration, bearerDeclaration];

/**
 * Registers the policies and starts fetching the identity provider's keys, without waiting for them. Signing
 * keys, verified tokens and counted attempts outlive a configuration; signing keys and tokens do so only as long as no
 * configuration key `oauth.*` changes.
 * @throws Error that lists every invalid setting
 */
export function init({ services, registerPolicy }: PluginContext, clock: Clock = systemClock): void {
  const { config } = services;
  const metrics = services.share('oauth2 metrics', [], (kept) => createMetrics(kept.metrics));
  const limit = services.share('oauth2 attempts', [], (kept) => {
    return new AttemptLimit(clock, () => kept.config['oauth.timeoutMs']);
  });
  let isNew = false;
  const { keys, accessTokens, grant } = services.share('oauth2', oauthKeys(config), ({ log, onStop }) => {
    isNew = true;
    const created = createOAuth2({ config, log, metrics, clock });
    onStop('oauth2', created.stop);
    created.keys.start();
    return created;
  });
  const unavailable = () => (keys.unavailable === undefined ? [] : [keys.unavailable]);
  services.addReadinessCheck('keys', async () => unavailable());
  // With a provider that is already in use, a failed fetch does not block the new configuration.
  services.addActivationCheck('keys', async () => {
    if (!isNew) return [];
    await keys.fetched;
    return unavailable();
  });
  registerPolicy(tokenPolicy({ grant, limit, metrics }));
  registerPolicy(bearerPolicy(accessTokens));
}

/** Returns all `oauth.*` keys: each of them affects which tokens are valid, or where tokens are verified. */
function oauthKeys(config: Config): [string, unknown][] {
  return Object.entries(config).filter(([key]) => key.startsWith('oauth.'));
}
