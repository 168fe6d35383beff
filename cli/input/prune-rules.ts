// Converts the options of `prune` into rules.

import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { endedStatuses } from '#lib/conductor/executions/has-ended.ts';
import type { RouteWorkflow } from '../../gateway/plugin-api/gateway-routes.ts';
import {
  generalRulesOf,
  type PruneRule,
  readRules,
  restrictionsOf,
  routeRulesOf,
  rulesOfWorkflow,
} from '../../jobs/prune/rules.ts';
import { parseDuration } from './duration.ts';
import { parseName } from './names.ts';
import { parseStates } from './states.ts';
import { CommandError } from '../outcome.ts';
import { routeNamed } from '../gateway/read-gateway.ts';

/** Options that restrict or override the rules of `prune`. */
export interface RuleOptions {
  readonly olderThan?: string;
  readonly state?: string;
  readonly route?: string;
  readonly workflow?: string;
}

/** The sources from which the configured rules are derived. */
interface RuleSources {
  readonly config: Config;
  readonly routes: readonly RouteWorkflow[];
  readonly api: Pick<ExecutionApi, 'workflows'>;
  /** Current time in milliseconds. */
  readonly now: number;
}

/**
 * Returns the configured rules, restricted to the executions that the options select. With `--older-than`, returns
 * rules with that age instead: a single rule, or one for each workflow of the route.
 * @throws CommandError when the options are not valid, EngineError
 */
export async function rulesFor(options: RuleOptions, sources: RuleSources): Promise<PruneRule[]> {
  const { olderThan, state, route, workflow } = options;
  if (route !== undefined && workflow !== undefined) throw new CommandError(['use --route or --workflow, not both']);
  if (route !== undefined) routeNamed(sources.routes, route);
  if (workflow !== undefined) parseName(workflow, '--workflow');
  const statuses = state === undefined ? endedStatuses : parseStates(state, endedStatuses);
  if (olderThan !== undefined) {
    const where = route === undefined ? (workflow ?? '') : nameOfRoute(route);
    const name = [where, nameOf(statuses)].filter(Boolean).join(', ');
    const restrictions =
      route === undefined ? [{ ...(workflow && { workflow }) }] : restrictionsOf(route, sources.routes);
    const olderThanMs = parseDuration(olderThan, '--older-than');
    return restrictions.map((restriction) => ({ name, statuses, olderThanMs, ...restriction }));
  }
  return (await configuredRules(options, sources)).flatMap((rule) => {
    const selected = rule.statuses.filter((one) => statuses.includes(one));
    if (selected.length === 0) return [];
    if (selected.length === rule.statuses.length) return [rule];
    // A general rule is named after its states, so its name is rebuilt from the selected states.
    const where = rule.statuses.length === endedStatuses.length ? rule.name : route && nameOfRoute(route);
    return [{ ...rule, name: [where, nameOf(selected)].filter(Boolean).join(', '), statuses: selected }];
  });
}

async function configuredRules({ route, workflow }: RuleOptions, sources: RuleSources): Promise<PruneRule[]> {
  const { config, routes, api, now } = sources;
  if (workflow !== undefined) return rulesOfWorkflow(workflow, config, routes);
  if (route === undefined) return readRules(config, routes, { api, now });
  const name = nameOfRoute(route);
  const own = routeRulesOf(config, routes).filter((rule) => rule.name === name);
  if (own.length > 0) return own;
  return restrictionsOf(route, routes).flatMap((restriction) =>
    generalRulesOf(config).map((rule) => ({ ...rule, name: `${name}, ${rule.name}`, ...restriction })),
  );
}

const nameOfRoute = (route: string) => `route ${route}`;

function nameOf(statuses: readonly WorkflowStatus[]): string {
  if (statuses.length === endedStatuses.length) return 'ended';
  return statuses.map((status) => status.toLowerCase().replace('_', ' ')).join(' or ');
}
