// The addresses that a running stack publishes for the CLI, without secrets.

import type { RunningStack } from '#lib/config/running-stack.ts';
import { redisUrlOf } from '../engine/redis-server.ts';
import type { StackSettings } from './options.ts';

/** Returns the addresses of the stack that this process starts. */
export function addressesOf({
  urls,
  env,
  givenEngine,
  redisPort,
}: Pick<StackSettings, 'urls' | 'env' | 'givenEngine'> & Partial<Pick<StackSettings, 'redisPort'>>) {
  const { OAUTH_ISSUER: identityProvider, OAUTH_AUDIENCE: audience, CONDUCTOR_DATABASEURL: database = '' } = env;
  return {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    router: urls.router,
    operations: urls.operations,
    engine: givenEngine === undefined ? urls.engine : withoutCredentials(givenEngine),
    ...(identityProvider === undefined ? {} : { identityProvider }),
    ...(audience === undefined ? {} : { audience }),
    backEnds: urls.backEnds,
    ...(redisPort === undefined ? {} : { redis: redisUrlOf(redisPort) }),
    ...(givenEngine === undefined && database.startsWith('sqlite:') ? { engineDatabase: database } : {}),
  } satisfies RunningStack;
}

function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/$/, '');
}
