// The router's own OAuth parts, for one command: nothing is fetched before it is needed.

import { Registry } from 'prom-client';
import type { Config } from '#lib/config/schema.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { systemClock } from '../../plugins/oauth2/clock.ts';
import { createOAuth2, type OAuth2 } from '../../plugins/oauth2/create-oauth2.ts';
import { createMetrics } from '../../plugins/oauth2/metrics.ts';
import { CommandError } from '../outcome.ts';

/** @throws VerbError that lists every setting that is wrong */
export function openOAuth(config: Config): OAuth2 {
  try {
    const metrics = createMetrics(new Registry());
    return createOAuth2({ config, log: createLog('cli', 'silent'), metrics, clock: systemClock });
  } catch (error) {
    throw new CommandError((error as Error).message.split('; '), { cause: error });
  }
}
