// The command `executions list`: lists the newest executions, filtered by route, client, workflow, state and time.

import {
  type ExecutionFilter,
  type ExecutionList,
  findExecutions,
  type ListedExecution,
} from '#lib/conductor/executions/find-executions.ts';
import type { Config } from '#lib/config/schema.ts';
import { routesWith } from '../../../gateway/plugin-api/gateway-routes.ts';
import { printable } from '../../output/colours.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from '../../engine/engine-access.ts';
import { formatSpan, parseCount, parseMoment } from '../../input/duration.ts';
import { parseName } from '../../input/names.ts';
import { parseStates } from '../../input/states.ts';
import type { Outcome } from '../../outcome.ts';
import { configFolderOf } from '../../gateway/gateway-folder.ts';
import { readGateway, routeNamed } from '../../gateway/read-gateway.ts';
import { countOf, formatTable } from '../../output/table.ts';
import type { CommandDefinition, CommandContext } from '../../command-definition.ts';
import { paintState } from './paint-state.ts';
import { withDeprecatedMembers } from '../../output/deprecated-members.ts';

/** Options of `executions list`. */
export interface ListOptions extends EngineAccessOptions {
  readonly route?: string;
  readonly client?: string;
  readonly workflow?: string;
  readonly state?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
}

/** Maximum number of rows of the engine's index that a search reads. */
const maxScanned = 20_000;

/** The command `executions list`. */
export const listExecutions: CommandDefinition<ListOptions> = {
  name: 'list',
  description: 'List executions, newest first. Neither requests nor responses are shown.',
  exitCodes: { 0: 'the list is shown, even if it is empty', 1: 'error' },
  examples: [
    { command: 'executions list', does: 'show the newest executions' },
    { command: 'executions list --state failed,timed-out --since 24h', does: 'show the failures of the last 24 hours' },
    {
      command: 'executions list --route adaptor --client demo --limit 100',
      does: 'show the executions of one client on one route',
    },
  ],
  addOptions: (command) =>
    addEngineOptions(command)
      .option('--route <name>', 'only executions of this route of gateway.config.yml')
      .option('--client <id>', 'only executions of this OAuth client')
      .option(
        '--workflow <name>',
        'only executions of this workflow, such as mdmWF or mdm-shareWF, which no route starts',
      )
      .option(
        '--state <states>',
        'running, completed, failed, timed-out, terminated (or cancelled), paused; comma-separated',
      )
      .option(
        '--since <when>',
        'started after this time: 2026-11-21T08:00:00Z, or how long ago, such as 90s, 15m, 2h or 30d',
      )
      .option('--until <when>', 'started before this time, in the same formats')
      .option('--limit <count>', 'how many to show', '20'),
  run: runList,
};

/** Searches executions. @throws ConfigError, CommandError or EngineError */
async function runList(options: ListOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const limit = parseCount(options.limit, '--limit');
  const engine = await openEngine(options, host);
  try {
    const filter = await toFilter(options, engine.config);
    return describe(await findExecutions(engine.executions, filter, { limit, maxScanned }));
  } finally {
    await engine.close();
  }
}

async function toFilter(
  { route, client, workflow, state, since, until, ...folder }: ListOptions,
  config: Config,
): Promise<ExecutionFilter> {
  const now = Date.now();
  const routed =
    route === undefined
      ? undefined
      : routeNamed(routesWith((await readGateway(config, configFolderOf(folder))).routes, 'workflow'), route);
  const workflows = workflow === undefined ? routed?.workflows : [parseName(workflow, '--workflow')];
  return {
    ...(workflows === undefined ? {} : { workflows }),
    ...(route === undefined ? {} : { route }),
    ...(client === undefined ? {} : { clientId: parseName(client, '--client') }),
    ...(state === undefined ? {} : { statuses: parseStates(state) }),
    ...(since === undefined ? {} : { since: parseMoment(since, '--since', now) }),
    ...(until === undefined ? {} : { until: parseMoment(until, '--until', now) }),
  };
}

function describe(list: ExecutionList): Outcome {
  const { executions, isComplete, scanned } = list;
  const gaveUp = isComplete
    ? []
    : [`there may be more: the search ended after ${scanned} executions; narrow it with --since or --state`];
  const rows = executions.map(toRow);
  const lines =
    rows.length === 0
      ? ['no executions', ...gaveUp]
      : [
          ...formatTable(
            ['execution', 'started', 'took', 'state', 'response', 'route', 'method', 'client', 'workflow'],
            rows,
          ),
          '',
          countOf(rows.length, 'execution'),
          ...gaveUp,
        ];
  const shown = executions.map((execution) => withDeprecatedMembers(execution));
  return { exitCode: 0, lines, json: { ok: true, ...list, executions: shown } };
}

function toRow(execution: ListedExecution): string[] {
  const { executionId, startedAt, durationMs, state, responseStatus, route, method, clientId, workflow, version } =
    execution;
  return [
    executionId,
    startedAt.replace(/\.\d+Z$/, 'Z'),
    durationMs === undefined ? '-' : formatSpan(durationMs),
    paintState(state),
    responseStatus === undefined ? '-' : String(responseStatus),
    printable(route ?? '-'),
    printable(method ?? '-'),
    printable(clientId ?? '-'),
    `${workflow} v${version}`,
  ];
}
