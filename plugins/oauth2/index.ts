// The plugin oauth2: clients get tokens here (policy `token`) and are let in with them (policy `bearer`).

import type { PluginContext } from '../../gateway/contract.ts';
import { bearerPolicy } from './bearer.ts';
import { type Clock, systemClock } from './clock.ts';
import { createOAuth2 } from './create-oauth2.ts';
import { tokenPolicy } from './token.ts';

/** Version of the plugin's contract. */
export const version = '1.0.0';

/** The policies it registers. */
export const policies = ['token', 'bearer'] as const;

/**
 * Registers the policies and begins to fetch the identity provider's keys, without waiting for them.
 * @throws Error that lists every setting that is wrong
 */
export function init({ services, registerPolicy }: PluginContext, clock: Clock = systemClock): void {
  const { keys, accessTokens, token, stop } = createOAuth2(services, clock);
  services.onStop('oauth2', stop);
  services.addReadinessCheck('keys', async () => (keys.unavailable === undefined ? [] : [keys.unavailable]));
  registerPolicy(tokenPolicy(token));
  registerPolicy(bearerPolicy(accessTokens));
  keys.start();
}
