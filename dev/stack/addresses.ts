// The addresses that a running stack publishes for the CLI, without secrets.

import type { RunningStack } from '#lib/config/running-stack.ts';
import type { StackSettings } from './options.ts';

/** Settings from which the addresses are derived. */
type Addressed = Pick<StackSettings, 'urls' | 'env' | 'givenEngine' | 'redisUrl' | 'recordsKeyPrefix'>;

/** Returns the addresses of the stack that this process starts. */
export function addressesOf({ urls, env, givenEngine, redisUrl, recordsKeyPrefix }: Addressed) {
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
    ...(redisUrl === undefined ? {} : { recordsKeyPrefix }),
    ...(redisUrl === undefined || new URL(redisUrl).password !== '' ? {} : { redis: redisUrl }),
    ...(givenEngine === undefined && database.startsWith('sqlite:') ? { engineDatabase: database } : {}),
  } satisfies RunningStack;
}

function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/$/, '');
}
