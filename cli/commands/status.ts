// The command `status`: shows the engine, its definitions, its workers, waiting tasks and execution counts.

import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { type Definitions, loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { EngineIndex } from '#lib/conductor/executions/engine-index.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import { type Change, type Plan, planChanges } from '#lib/conductor/metadata/plan.ts';
import { diffOf } from '#lib/conductor/metadata/unified-diff.ts';
import { type WorkerPool, poolsOf, unheardQueues } from '#lib/conductor/metadata/worker-pools.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import { addEngineOptions, type EngineAccess, type EngineAccessOptions, openEngine } from '../engine/engine-access.ts';
import { addStaleAfterOption, parseStaleAfter } from '../input/stale-after.ts';
import type { Outcome } from '../outcome.ts';
import { nameOf, paintDiffLine } from '../output/plan-lines.ts';
import { formatPools } from '../output/pool-table.ts';
import { folderOf } from '../gateway/gateway-folder.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `status`: engine, directory of the definitions, and when a worker counts as inactive. */
export interface StatusOptions extends EngineAccessOptions {
  readonly dir?: string;
  readonly staleAfter: string;
}

/** The command `status`: compares the engine with the files and shows the workers. */
export const status: CommandDefinition<StatusOptions> = {
  name: 'status',
  description: 'Show the state of the engine, its definitions, workers and waiting tasks.',
  exitCodes: {
    0: 'the engine responds and its definitions match the files',
    1: 'error: the engine is unreachable, or a definition file is not valid',
    2: 'the engine responds, but a definition is missing or differs',
  },
  examples: [
    { command: 'status', does: 'use the engine of the configuration' },
    { command: 'status --router https://router.example.org', does: 'go through the router, as ops.clientId' },
    { command: 'status --stale-after 30s', does: 'count a worker as inactive after 30 s without a poll' },
  ],
  addOptions: (command) => addStaleAfterOption(addEngineOptions(command)),
  run: runStatus,
};

interface Status {
  readonly address: string;
  readonly version: string | undefined;
  readonly definitions: Plan;
  readonly pools: readonly WorkerPool[];
  /** Number of executions by state; null when the engine has no index. */
  readonly executions: Readonly<Record<string, number>> | null;
  /** Number of waiting events without a handler, by event name. */
  readonly unheard: Readonly<Record<string, number>>;
}

/** Reads the status of the engine. @throws ConfigError, DefinitionError, CommandError or EngineError */
export async function runStatus(options: StatusOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const staleAfterMs = parseStaleAfter(options.staleAfter);
  const files = loadDefinitions(folderOf(options));
  const engine = await openEngine(options, host);
  try {
    const definitions = forColleges(files, engine.config);
    const current = await readStatus(engine, definitions, staleAfterMs);
    return describe({ ...current, address: engine.address });
  } finally {
    await engine.close();
  }
}

async function readStatus(
  { api, call }: EngineAccess,
  definitions: Definitions,
  staleAfterMs: number,
): Promise<Omit<Status, 'address'>> {
  const [version, registered, pollData, queues, executions] = await Promise.all([
    api.readVersion(),
    api.readDefinitions(),
    api.readPollData(),
    api.readQueueSizes(),
    countExecutions(call),
  ]);
  return {
    version,
    definitions: planChanges(definitions, registered, { prune: false, concerns: () => true }),
    pools: poolsOf(definitions, { pollData, queues, staleAfterMs, now: Date.now() }),
    executions,
    unheard: unheardQueues(registered, queues),
  };
}

/** Counts executions in the engine's own index only: counting the routers' records would mean reading all of them. */
async function countExecutions(call: SendRequest): Promise<Status['executions']> {
  if (!(await new IndexPresence(call).exists())) return null;
  const index = new EngineIndex(call);
  const states = ['RUNNING', 'FAILED', 'TIMED_OUT'] as const;
  const counts = await Promise.all(states.map(async (state) => [state, await index.count({ statuses: [state] })]));
  return Object.fromEntries(counts) as Record<string, number>;
}

function describe(current: Status): Outcome {
  const { address, version, definitions, pools, executions, unheard } = current;
  const exitCode = definitions.changes.length === 0 ? 0 : 2;
  const lines = [
    `engine       ${address}${version === undefined ? '' : `  Conductor ${version}`}`,
    ...describeDefinitions(definitions),
    `executions   ${describeExecutions(executions)}`,
    ...Object.entries(unheard).map(
      ([event, count]) => `events       ${count} waiting in ${event}, which no handler listens to`,
    ),
    '',
    ...formatPools(pools),
  ];
  const json = {
    ok: exitCode === 0,
    engine: { url: address, version },
    definitions: definitions.changes.map(toJson),
    unchanged: definitions.unchanged,
    executions,
    workers: pools,
    eventsWithoutHandler: unheard,
  };
  return { exitCode, lines, json };
}

function describeExecutions(executions: Status['executions']): string {
  if (executions === null)
    return 'unknown: the engine has no index of executions; `executions list` searches the records in redis.url';
  return Object.entries(executions)
    .map(([name, count]) => `${count} ${name.toLowerCase().replace('_', ' ')}`)
    .join(', ');
}

function describeDefinitions({ changes, unchanged }: Plan): string[] {
  if (changes.length === 0) return [`definitions  all ${unchanged} match the files`];
  return [
    'definitions  do not match the files; `apply` updates them',
    ...changes.flatMap((change) => [
      `  ${change.action === 'add' ? 'missing' : 'differs'}  ${nameOf(change)}`,
      ...(change.action === 'add' ? [] : diffOf(change).map((line) => `    ${paintDiffLine(line)}`)),
    ]),
  ];
}

function toJson(change: Change): Record<string, unknown> {
  const { action, kind, name, version, file } = change;
  const state = action === 'add' ? 'created' : 'changed';
  return { kind, name, version, file, state, diff: diffOf(change).join('\n') };
}
