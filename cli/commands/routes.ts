// The command `routes`: prints the effective route table.

import { loadConfig } from '#lib/config/load.ts';
import { describeShares, readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { paint } from '../output/colours.ts';
import { writeWarnings } from '../gateway/command-config.ts';
import type { Outcome } from '../outcome.ts';
import { readGateway } from '../gateway/read-gateway.ts';
import { addDirOption, folderOf } from '../gateway/gateway-folder.ts';
import {
  type BearerStep,
  createRouteTable,
  type RouteBulkhead,
  type RoutedWorkflow,
  type RouteTableEntry,
  type WorkflowTarget,
} from '../gateway/route-table.ts';
import { formatTable } from '../output/table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';
import { withDeprecatedMembers } from '../output/deprecated-members.ts';

/** Options of `routes`: the directory to read. */
export interface RoutesOptions {
  readonly dir?: string;
}

/** The command `routes`: prints the route table of a gateway configuration. */
export const routes: CommandDefinition<RoutesOptions> = {
  name: 'routes',
  description:
    'Show the route table: each public path with its scope, workflow, response deadline (wait), task types, bulkhead and limits. Needs no engine.',
  exitCodes: {
    0: 'the route table was printed',
    1: 'error: configuration, gateway.config.yml or a definition file is not valid',
  },
  examples: [
    { command: 'routes', does: 'show the route table with values from the configuration' },
    { command: 'routes --json', does: 'for programs' },
    { command: 'routes --dir ../candidate', does: 'the route table of another checkout' },
  ],
  addOptions: (command) => addDirOption(command),
  run: runRoutes,
};

/** Builds the route table of a directory. @throws ConfigError, CommandError or DefinitionError for invalid files */
async function runRoutes(options: RoutesOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const dir = folderOf(options);
  const { config, warnings } = await loadConfig({ env: host.env, rootDir: dir });
  writeWarnings(host.stderr, warnings);
  const table = createRouteTable(await readGateway(config, dir), config, loadDefinitions(dir));
  return { exitCode: 0, lines: describe(table), json: { ok: true, routes: table.map(toJson) } };
}

function toJson(route: RouteTableEntry): Record<string, unknown> {
  return withDeprecatedMembers({ ...route, limits: withDeprecatedMembers(route.limits) });
}

const columns = ['route', 'methods', 'path', 'scope', 'workflow', 'wait', 'task types', 'bulkhead', 'limits'];

/**
 * A route has as many rows as it has paths, `bearer` steps or workflows, whichever are most numerous. The first row
 * also shows the values that apply to the whole route.
 */
function describe(table: readonly RouteTableEntry[]): string[] {
  return [...formatTable(columns, table.flatMap(describeRoute)), ...table.flatMap(describeNotes)];
}

function describeRoute({ route, methods, host, paths, bearer, workflows, limits }: RouteTableEntry): string[][] {
  const started = workflows.length === 0 ? [['-', '-', '-', '-']] : workflows.map(describeWorkflow);
  const required = bearer.length === 0 ? ['no token'] : bearer.map(describeBearer);
  return Array.from({ length: Math.max(paths.length, required.length, started.length) }, (_, row) => {
    const whenFirst = (text: string) => (row === 0 ? text : '');
    return [
      whenFirst(route),
      whenFirst(methods?.join(' ') ?? 'any'),
      `${whenFirst(host ?? '')}${paths[row] ?? ''}`,
      required[row] ?? '',
      ...(started[row] ?? ['', '', '', '']),
      whenFirst(describeLimits(limits)),
    ];
  });
}

/** Returns the cells of the columns workflow, wait, task types and bulkhead. */
function describeWorkflow(workflow: RoutedWorkflow): string[] {
  const { name, responseDeadlineMs, taskTypes, bulkhead } = workflow;
  return [
    `${name} ${describeVersions(workflow)}`,
    `${responseDeadlineMs / 1_000} s`,
    taskTypes?.join(' ') ?? paint('bad', 'no such version'),
    bulkhead.name,
  ];
}

function describeVersions(workflow: WorkflowTarget): string {
  const { pinned } = readPinnedVersions(workflow);
  return pinned === undefined ? '' : describeShares(pinned);
}

function describeBearer({ scopes, anyScope, writeScope, condition }: BearerStep): string {
  const parts = [
    ...(scopes.length > 0 ? [scopes.join(' and ')] : []),
    ...(anyScope.length > 0 ? [anyScope.join(' or ')] : []),
    ...(writeScope === undefined ? [] : [`for writes: ${writeScope}`]),
  ];
  const required = parts.length === 0 ? 'any token' : parts.join('; ');
  return condition === undefined ? required : `${required} if ${condition}`;
}

function describeLimits({
  rates,
  inFlight,
  misCodes,
  maxBodyBytes,
  maxResponseBytes,
}: RouteTableEntry['limits']): string {
  const whose = (by: string) => (by === 'route' ? 'in total' : 'per client');
  const limits = [
    ...rates.map(
      ({ by, requests, windowSeconds }) => `${requests}/${windowSeconds === 1 ? '' : windowSeconds}s ${whose(by)}`,
    ),
    ...inFlight.map(({ by, requests }) => `${requests} at a time ${whose(by)}`),
    ...(misCodes === undefined ? [] : [`:${misCodes} limited per client`]),
    ...(maxBodyBytes === undefined ? [] : [`body ${bytes(maxBodyBytes)}`]),
    ...(maxResponseBytes === undefined ? [] : [`response ${bytes(maxResponseBytes)}`]),
  ];
  return limits.length === 0 ? '-' : limits.join(', ');
}

function bytes(count: number): string {
  const units = [
    ['MiB', 1_048_576],
    ['KiB', 1_024],
  ] as const;
  const [unit, size] = units.find(([, limit]) => count >= limit && count % limit === 0) ?? ['bytes', 1];
  return `${count / size} ${unit}`;
}

function describeNotes({ route, workflows, conditions }: RouteTableEntry): string[] {
  const ofWorkflows = Object.assign(
    {},
    ...workflows.map(({ bulkhead }) => bulkhead.domains),
  ) as RouteBulkhead['domains'];
  const domains = Object.entries(ofWorkflows).map(([code, domain]) => `tasks of ${code} go to domain ${domain}`);
  const notes = [...domains, ...conditions];
  return notes.length === 0 ? [] : [`${route}: ${notes.join('; ')}`];
}
