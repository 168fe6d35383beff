// What a running stack tells the CLI: where its programs listen, without any secret.

import type { RunningStack } from '#lib/config/running-stack.ts';
import type { StackSettings } from './options.ts';

/** The addresses of a stack that this process runs from now on. */
export function addressesOf({ urls, env, givenEngine }: Pick<StackSettings, 'urls' | 'env' | 'givenEngine'>) {
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
    ...(givenEngine === undefined && database.startsWith('sqlite:') ? { engineDatabase: database } : {}),
  } satisfies RunningStack;
}

function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/$/, '');
}
