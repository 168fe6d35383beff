// Which definitions a verb looks at, on both sides, and how the two are compared.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { checkDefinitions } from '#lib/conductor/definitions/check-definitions.ts';
import { type Definitions, readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import { type Change, type Plan, planChanges } from '#lib/conductor/metadata/plan.ts';
import { countRunning, type TouchingChange } from '#lib/conductor/metadata/impact.ts';
import type { Config } from '#lib/config/schema.ts';
import { addEngineOptions, type EngineAccessOptions } from './engine-access.ts';
import { CommandError } from './outcome.ts';
import { findGateway } from './read-gateway.ts';
import { rootDir } from './root-dir.ts';
import { type MappedRoute, mapRoutes, versionsOf } from './route-map.ts';

export interface ScopeOptions extends EngineAccessOptions {
  readonly dir?: string;
  /** Patterns of names, `*` for anything; all when absent. */
  readonly only?: readonly string[];
}

export interface PlanVerbOptions extends ScopeOptions {
  readonly prune?: boolean;
  readonly force?: boolean;
  /** False: without the diffs. */
  readonly diff: boolean;
}

/** A change with what an operator wants to know of it. */
export interface ShownChange extends TouchingChange {
  /** Routes that start the workflow version which is to be removed. */
  readonly routes: readonly string[];
}

export interface ShownPlan extends Plan {
  readonly changes: readonly ShownChange[];
  /** What routes start and nobody has, a line each. */
  readonly missing: readonly string[];
}

export function addScopeOptions(command: Command): Command {
  return addEngineOptions(command)
    .option('--dir <directory>', 'directory with workflows/ and event-handlers/ (default: the product)')
    .option(
      '--only <pattern>',
      'look at definitions with such a name only, on both sides; * is anything; may be given again',
      (pattern: string, others: readonly string[] = []) => [...others, pattern],
    );
}

/** The options that plan and apply share: the same options make the same plan. */
export function addPlanOptions(command: Command): Command {
  return addScopeOptions(command)
    .option('--prune', 'remove what the engine has and the files have not (default: leave it)')
    .option('--force', 'change published workflow versions, and remove those that a route starts (default: refuse)')
    .option('--no-diff', 'list the changes without their diffs');
}

/** Whether a name is looked at. */
export function concernedBy({ only }: Pick<ScopeOptions, 'only'>): (name: string) => boolean {
  if (only === undefined) return () => true;
  const patterns = only.map((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`);
  });
  return (name) => patterns.some((pattern) => pattern.test(name));
}

/** The definitions of the files. @throws VerbError with everything that is wrong with them */
export function readRepository({ dir }: Pick<ScopeOptions, 'dir'>): Definitions {
  const definitions = readDefinitions(resolve(dir ?? rootDir));
  const problems = checkDefinitions(definitions);
  if (problems.length > 0) throw new CommandError(problems);
  return definitions;
}

/** Compares the files with the engine. @throws VerbError when --only fits nothing, EngineError */
export async function readPlan(repository: Definitions, api: MetadataApi, options: PlanVerbOptions): Promise<Plan> {
  return (await compare(repository, api, options)).plan;
}

/** The same with the running executions and the routes that each change touches. */
export async function readShownPlan(
  { repository, config }: { readonly repository: Definitions; readonly config: Config },
  api: MetadataApi,
  options: PlanVerbOptions,
): Promise<ShownPlan> {
  const { plan, registered } = await compare(repository, api, options);
  const gateway = await findGateway(config, options.dir);
  const map = mapRoutes(gateway?.routes ?? [], config, repository);
  const touching = await countRunning(plan.changes, registered, api);
  const concerns = concernedBy(options);
  const known = [...repository.workflows.map(({ definition }) => definition), ...registered.workflows];
  return {
    ...plan,
    changes: touching.map((change) => ({ ...change, routes: routesStarting(change, map) })),
    missing: findMissing(
      map.filter(({ workflow }) => workflow !== undefined && concerns(workflow.name)),
      known,
    ),
  };
}

function routesStarting({ action, kind, name, version }: Change, map: readonly MappedRoute[]): string[] {
  if (action !== 'remove' || kind !== 'workflow') return [];
  return map
    .filter(
      ({ workflow }) => workflow?.name === name && version !== undefined && versionsOf(workflow).includes(version),
    )
    .map(({ route }) => route);
}

/** Versions that a route starts and that neither side has: requests that get them are answered 503. */
function findMissing(
  map: readonly MappedRoute[],
  known: readonly { readonly name: string; readonly version: number }[],
): string[] {
  return map.flatMap(({ route, workflow }) => {
    if (workflow === undefined) return [];
    const missing = versionsOf(workflow).filter(
      (version) => !known.some((other) => other.name === workflow.name && other.version === version),
    );
    return missing.map(
      (version) => `route ${route} starts ${workflow.name} v${version}, which neither the files nor the engine have`,
    );
  });
}

async function compare(repository: Definitions, api: MetadataApi, options: PlanVerbOptions) {
  const registered = await api.readDefinitions();
  const plan = planChanges(repository, registered, { prune: options.prune === true, concerns: concernedBy(options) });
  if (options.only !== undefined && plan.changes.length + plan.unchanged + plan.kept.length === 0) {
    throw new CommandError([
      `no definition has a name like ${options.only.join(' or ')}, in the files or in the engine`,
    ]);
  }
  return { plan, registered };
}
