// Selects definitions in the files and in the engine, and compares them.

import type { Command } from 'commander';
import { checkDefinitions } from '#lib/conductor/definitions/check-definitions.ts';
import { type Definitions, readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import { type Change, type Plan, planChanges } from '#lib/conductor/metadata/plan.ts';
import { countRunning, type ChangeImpact } from '#lib/conductor/metadata/impact.ts';
import { addEngineOptions, type EngineAccess, type EngineAccessOptions } from './engine-access.ts';
import { CommandError } from '../outcome.ts';
import { findGateway } from '../gateway/read-gateway.ts';
import { configFolderOf, folderOf } from '../gateway/gateway-folder.ts';
import { type RouteTableEntry, type WorkflowTarget, createRouteTable, versionsOf } from '../gateway/route-table.ts';

/** Options that select definitions. */
export interface ScopeOptions extends EngineAccessOptions {
  readonly dir?: string;
  /** Name patterns, in which `*` matches any text; absent to select all definitions. */
  readonly only?: readonly string[];
}

/** Options that `plan` and `apply` share. */
export interface PlanCommandOptions extends ScopeOptions {
  readonly prune?: boolean;
  readonly force?: boolean;
  /** False to leave out the diffs. */
  readonly diff: boolean;
}

/** A change with its impact on executions and routes. */
export interface ShownChange extends ChangeImpact {
  /** Routes that start the workflow version that the change removes. */
  readonly routes: readonly string[];
}

/** A plan with the impact of its changes. */
export interface ShownPlan extends Plan {
  readonly changes: readonly ShownChange[];
  /** One line for each workflow version that a route starts but that neither the files nor the engine contains. */
  readonly missing: readonly string[];
}

/** Adds the options that select definitions. */
export function addScopeOptions(command: Command): Command {
  return addEngineOptions(command).option(
    '--only <pattern>',
    'only definitions whose name matches, in the files and in the engine; * is any text; may be repeated',
    (pattern: string, others: readonly string[] = []) => [...others, pattern],
  );
}

/** Adds the options that plan and apply share. The same options produce the same plan. */
export function addPlanOptions(command: Command): Command {
  return addScopeOptions(command)
    .option('--prune', 'also remove definitions that only the engine has (default: keep them)')
    .option('--force', 'change registered workflow versions, and remove those that a route starts (default: refuse)')
    .option('--no-diff', 'list the changes without their diffs');
}

/** Returns a predicate that tells whether `--only` selects a name. */
export function createNameFilter({ only }: Pick<ScopeOptions, 'only'>): (name: string) => boolean {
  if (only === undefined) return () => true;
  const patterns = only.map((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`);
  });
  return (name) => patterns.some((pattern) => pattern.test(name));
}

/** Reads and checks the definitions in the files. @throws CommandError that lists every problem */
export function readRepository(options: Pick<ScopeOptions, 'dir'>): Definitions {
  const definitions = readDefinitions(folderOf(options));
  const problems = checkDefinitions(definitions);
  if (problems.length > 0) throw new CommandError(problems);
  return definitions;
}

/** Compares the files with the engine. @throws CommandError when `--only` matches no definition, EngineError */
export async function readPlan(repository: Definitions, api: MetadataApi, options: PlanCommandOptions): Promise<Plan> {
  return (await compare(repository, api, options)).plan;
}

/** Like `readPlan`, with the running executions and the routes that each change affects. */
export async function readShownPlan(
  repository: Definitions,
  { api, executions, config }: EngineAccess,
  options: PlanCommandOptions,
): Promise<ShownPlan> {
  const { plan, registered } = await compare(repository, api, options);
  const gateway = await findGateway(config, configFolderOf(options));
  const table = gateway === undefined ? [] : createRouteTable(gateway, config, repository);
  const touching = await countRunning(plan.changes, registered, executions);
  const concerns = createNameFilter(options);
  const known = [...repository.workflows.map(({ definition }) => definition), ...registered.workflows];
  return {
    ...plan,
    changes: touching.map((change) => ({ ...change, routes: routesStarting(change, table) })),
    missing: findMissing(
      table
        .flatMap(({ route, workflows }) => workflows.map((workflow) => ({ route, workflow })))
        .filter(({ workflow }) => concerns(workflow.name)),
      known,
    ),
  };
}

function routesStarting({ action, kind, name, version }: Change, table: readonly RouteTableEntry[]): string[] {
  if (action !== 'remove' || kind !== 'workflow') return [];
  return table
    .filter(({ workflows }) =>
      workflows.some(
        (workflow) => workflow.name === name && version !== undefined && versionsOf(workflow).includes(version),
      ),
    )
    .map(({ route }) => route);
}

/**
 * Finds workflow versions that a route starts but that neither the files nor the engine contains. Requests that would
 * start them get a 503.
 */
function findMissing(
  started: readonly { readonly route: string; readonly workflow: WorkflowTarget }[],
  known: readonly { readonly name: string; readonly version: number }[],
): string[] {
  return started.flatMap(({ route, workflow }) => {
    const missing = versionsOf(workflow).filter(
      (version) => !known.some((other) => other.name === workflow.name && other.version === version),
    );
    return missing.map(
      (version) => `route ${route} starts ${workflow.name} v${version}, which neither the files nor the engine has`,
    );
  });
}

async function compare(repository: Definitions, api: MetadataApi, options: PlanCommandOptions) {
  const registered = await api.readDefinitions();
  const plan = planChanges(repository, registered, {
    prune: options.prune === true,
    concerns: createNameFilter(options),
  });
  if (options.only !== undefined && plan.changes.length + plan.unchanged + plan.kept.length === 0) {
    throw new CommandError([
      `no definition has a name like ${options.only.join(' or ')}, in the files or in the engine`,
    ]);
  }
  return { plan, registered };
}
