// Creates the router's OAuth components for one command.

import { Registry } from 'prom-client';
import type { Config } from '#lib/config/schema.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { systemClock } from '../../../plugins/oauth2/clock.ts';
import { createOAuth2, type OAuth2 } from '../../../plugins/oauth2/create-oauth2.ts';
import { createMetrics } from '../../../plugins/oauth2/metrics.ts';
import { CommandError } from '../../outcome.ts';

/**
 * Returns the OAuth components; they fetch metadata and keys on first use.
 * @throws CommandError that lists every invalid setting
 */
export function openOAuth(config: Config): OAuth2 {
  try {
    const metrics = createMetrics(new Registry());
    return createOAuth2({ config, log: createLog('cli', 'silent'), metrics, clock: systemClock });
  } catch (error) {
    throw new CommandError((error as Error).message.split('; '), { cause: error });
  }
}
