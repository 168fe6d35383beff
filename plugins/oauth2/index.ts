// The plugin oauth2: clients get tokens here (policy `token`) and are let in with them (policy `bearer`).

import type { Config } from '#lib/config/schema.ts';
import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { bearerDeclaration, bearerPolicy } from './bearer.ts';
import { type Clock, systemClock } from './clock.ts';
import { createOAuth2 } from './create-oauth2.ts';
import { createMetrics } from './metrics.ts';
import { AttemptLimit } from './token/attempt-limit.ts';
import { tokenDeclaration, tokenPolicy } from './token.ts';

/** Version of the plugin's contract. */
export const version = '1.1.0';

/** The policies it registers. */
export const policies = [tokenDeclaration, bearerDeclaration];

/**
 * Registers the policies and begins to fetch the identity provider's keys, without waiting for them. Keys, checked tokens
 * and counted attempts outlive a configuration, the first two as long as no key `oauth.*` changes.
 * @throws Error that lists every setting that is wrong
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
    const made = createOAuth2({ config, log, metrics, clock });
    onStop('oauth2', made.stop);
    made.keys.start();
    return made;
  });
  const unavailable = () => (keys.unavailable === undefined ? [] : [keys.unavailable]);
  services.addReadinessCheck('keys', async () => unavailable());
  // A provider that is in use already may be away: then nothing is worse than before.
  services.addActivationCheck('keys', async () => {
    if (!isNew) return [];
    await keys.fetched;
    return unavailable();
  });
  registerPolicy(tokenPolicy({ grant, limit, metrics }));
  registerPolicy(bearerPolicy(accessTokens));
}

/** Every one of them changes what a token is worth, or where that is asked. */
function oauthKeys(config: Config): [string, unknown][] {
  return Object.entries(config).filter(([key]) => key.startsWith('oauth.'));
}
