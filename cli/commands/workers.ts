// The command `workers`: shows the workers of each task type and domain, their last polls and the waiting tasks.

import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { poolsOf, type WorkerPool } from '#lib/conductor/metadata/worker-pools.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from '../engine/engine-access.ts';
import { parseName } from '../input/names.ts';
import { addStaleAfterOption, parseStaleAfter } from '../input/stale-after.ts';
import type { Outcome } from '../outcome.ts';
import { formatPools } from '../output/pool-table.ts';
import { folderOf } from '../gateway/gateway-folder.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `workers`: engine, filters, and when a worker counts as inactive. */
export interface WorkersOptions extends EngineAccessOptions {
  readonly task?: string;
  readonly domain?: string;
  readonly staleAfter: string;
}

/** The command `workers`: shows the worker pools of each task type and domain. */
export const workersCommand: CommandDefinition<WorkersOptions> = {
  name: 'workers',
  description: 'Show the workers of each task type and domain, when they last polled, and how many tasks wait.',
  exitCodes: {
    0: 'every default pool that is shown has an active worker, and so has every domain in which tasks wait',
    1: 'error: the engine is unreachable',
    2: 'a default pool that is shown, or a domain in which tasks wait, has no active worker',
  },
  examples: [
    { command: 'workers', does: 'show all pools' },
    { command: 'workers --domain 002', does: 'show the workers of one college adaptor' },
    {
      command: 'workers --task mdm_share --stale-after 30s',
      does: 'show one task type; a worker is inactive after 30 s without a poll',
    },
  ],
  addOptions: (command) =>
    addStaleAfterOption(addEngineOptions(command))
      .option('--task <type>', 'only this task type')
      .option('--domain <domain>', 'only this task domain; - is the default pool'),
  run: runWorkers,
};

/** Reads the worker pools from the engine. @throws ConfigError, CommandError or EngineError */
async function runWorkers(options: WorkersOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const staleAfterMs = parseStaleAfter(options.staleAfter);
  const engine = await openEngine(options, host);
  try {
    const [pollData, queues] = await Promise.all([engine.api.readPollData(), engine.api.readQueueSizes()]);
    const definitions = forColleges(loadDefinitions(folderOf(options)), engine.config);
    const pools = poolsOf(definitions, { pollData, queues, staleAfterMs, now: Date.now() });
    return describe(pools.filter(createPoolFilter(options)));
  } finally {
    await engine.close();
  }
}

function createPoolFilter({ task, domain }: WorkersOptions): (pool: WorkerPool) => boolean {
  const taskType = task === undefined ? undefined : parseName(task, '--task');
  const inDomain = domain === undefined || domain === '-' ? domain : parseName(domain, '--domain');
  return (pool) =>
    (taskType === undefined || pool.taskType === taskType) &&
    (inDomain === undefined || (pool.domain ?? '-') === inDomain);
}

/** Returns true when no worker of the pool has polled recently. */
function hasNoActiveWorker({ workers }: WorkerPool): boolean {
  return workers.every(({ stale }) => stale);
}

function describe(pools: readonly WorkerPool[]): Outcome {
  const withoutWorkers = pools.filter(
    (pool) => hasNoActiveWorker(pool) && (pool.waiting > 0 || pool.domain === undefined),
  );
  return {
    exitCode: withoutWorkers.length === 0 ? 0 : 2,
    lines: pools.length === 0 ? ['no worker pools'] : formatPools(pools),
    json: { ok: withoutWorkers.length === 0, workers: pools },
  };
}
