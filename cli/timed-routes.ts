// The routes of gateway.config.yml as the time-out ladder needs them.

import { readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import type { Route } from '#lib/conductor/definitions/time-outs.ts';
import type { ReadGateway } from '../gateway/configuration/read-gateway-config.ts';

const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** One for each version that a pipeline may start; what is wrong with a place leaves it out. */
export function timedRoutes({ steps, routes, problems }: ReadGateway, defaultBudgetMs: number): Route[] {
  return [...steps].flatMap(([name, ofPipeline]) => {
    const methods = routes.filter(({ pipeline }) => pipeline === name).map(({ endpoint }) => endpoint.methods);
    const writes = methods.some((list) => list === undefined || list.some((method) => !readMethods.has(method)));
    return ofPipeline
      .filter(({ policy }) => policy === 'workflow')
      .flatMap(({ action, path }) => {
        const { name: workflow, waitBudgetMs = defaultBudgetMs } = action;
        if (typeof workflow !== 'string' || typeof waitBudgetMs !== 'number') return [];
        const versions = [...(readPinnedVersions(action).pinned?.shares.keys() ?? [])];
        const place = problems.place(path);
        return versions.map((version) => ({ name, place, workflow, version, waitBudgetMs, writes }));
      });
  });
}
