// Lists the routes of gateway.config.yml with the data that the timeout check needs.

import { readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import type { Route } from '#lib/conductor/definitions/timeouts.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import type { ReadGateway } from '../../gateway/configuration/read-gateway-config.ts';

/**
 * Returns one entry for each workflow version that a pipeline may start. Steps with invalid parameters are left out.
 * @param defaultDeadlineMs response deadline of pipelines that set none, in milliseconds
 */
export function timedRoutes({ steps, routes, problems }: ReadGateway, defaultDeadlineMs: number): Route[] {
  return [...steps].flatMap(([name, ofPipeline]) => {
    const methods = routes.filter(({ pipeline }) => pipeline === name).map(({ endpoint }) => endpoint.methods);
    const writes = methods.some((list) => list === undefined || list.some((method) => !isSafeMethod(method)));
    return ofPipeline
      .filter(({ policy }) => policy === 'workflow')
      .flatMap(({ action, path }) => {
        const { name: workflow } = action;
        const responseDeadlineMs = action['responseDeadlineMs'] ?? action['waitBudgetMs'] ?? defaultDeadlineMs;
        if (typeof workflow !== 'string' || typeof responseDeadlineMs !== 'number') return [];
        const versions = [...(readPinnedVersions(action).pinned?.shares.keys() ?? [])];
        const place = problems.place(path);
        return versions.map((version) => ({ name, place, workflow, version, responseDeadlineMs, writes }));
      });
  });
}
