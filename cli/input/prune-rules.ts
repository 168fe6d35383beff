// Converts the options of `prune` into rules.

import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { endedStatuses } from '#lib/conductor/executions/has-ended.ts';
import { generalRulesOf, type PruneRule, restrictionOf, type RouteWorkflow } from '../../jobs/prune/rules.ts';
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

/** Returns true when an option restricts or overrides the rules of the configuration. */
export function isNarrowed({ olderThan, state, route, workflow }: RuleOptions): boolean {
  return [olderThan, state, route, workflow].some((option) => option !== undefined);
}

const dayMs = 86_400_000;

/** Returns the rules that the options describe. @throws CommandError when the options are not valid */
export function rulesFor(options: RuleOptions, config: Config, routes: readonly RouteWorkflow[]): PruneRule[] {
  const { olderThan, state, route, workflow } = options;
  if (route !== undefined && workflow !== undefined) throw new CommandError(['use --route or --workflow, not both']);
  if (route !== undefined) routeNamed(routes, route);
  const statuses = state === undefined ? endedStatuses : parseStates(state, endedStatuses);
  const what = {
    ...(route === undefined ? {} : restrictionOf(route, routes)),
    ...(workflow === undefined ? {} : { workflow: parseName(workflow, '--workflow') }),
  };
  const where = route === undefined ? (workflow ?? '') : `route ${route}`;
  if (olderThan !== undefined) {
    const olderThanMs = parseDuration(olderThan, '--older-than');
    return [{ name: [where, nameOf(statuses)].filter(Boolean).join(', '), statuses, olderThanMs, ...what }];
  }
  const own = route === undefined ? undefined : config[`prune.${route}.days`];
  return generalRulesOf(config).flatMap((rule) => {
    const selected = rule.statuses.filter((one) => statuses.includes(one));
    const name = [where, nameOf(selected)].filter(Boolean).join(', ');
    const olderThanMs = own === undefined ? rule.olderThanMs : own * dayMs;
    return selected.length === 0 ? [] : [{ name, statuses: selected, olderThanMs, ...what }];
  });
}

function nameOf(statuses: readonly WorkflowStatus[]): string {
  if (statuses.length === endedStatuses.length) return 'ended';
  return statuses.map((status) => status.toLowerCase().replace('_', ' ')).join(' or ');
}
