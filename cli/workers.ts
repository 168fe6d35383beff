// `workers`: who polls which task type in which domain, when last, and what waits there.

import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { poolsOf, type WorkerPool } from '#lib/conductor/metadata/worker-pools.ts';
import { paint, printable } from './colours.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from './engine-access.ts';
import { formatSpan } from './input/duration.ts';
import { parseName } from './input/names.ts';
import { addStaleAfterOption, parseStaleAfter } from './input/stale-after.ts';
import type { Outcome } from './outcome.ts';
import { rootDir } from './root-dir.ts';
import { formatTable } from './table.ts';
import type { CommandDefinition, CommandContext } from './command-definition.ts';

export interface WorkersOptions extends EngineAccessOptions {
  readonly task?: string;
  readonly domain?: string;
  readonly staleAfter: string;
}

export const workersVerb: CommandDefinition<WorkersOptions> = {
  name: 'workers',
  description: 'Show who polls which task type in which domain, when last, and how many tasks wait there.',
  exitCodes: {
    0: 'somebody polls every pool',
    1: 'error: the engine is out of reach',
    2: 'nobody polls a task type, or a domain in which tasks wait',
  },
  examples: [
    { command: 'workers', does: 'all pools' },
    { command: 'workers --domain 002', does: 'those beside one college adaptor' },
    { command: 'workers --task mdm_share --stale-after 30s', does: 'one task type; gone after 30 s without a poll' },
  ],
  addOptions: (command) =>
    addStaleAfterOption(addEngineOptions(command))
      .option('--task <type>', 'only this task type')
      .option('--domain <domain>', 'only this task domain; - is the default pool'),
  run: runWorkers,
};

export async function runWorkers(options: WorkersOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const staleAfterMs = parseStaleAfter(options.staleAfter);
  const engine = await openEngine(options, host);
  try {
    const [pollData, queues] = await Promise.all([engine.api.readPollData(), engine.api.readQueueSizes()]);
    const pools = poolsOf(loadDefinitions(rootDir), { pollData, queues, staleAfterMs, now: Date.now() });
    return describe(pools.filter(wanted(options)));
  } finally {
    await engine.close();
  }
}

function wanted({ task, domain }: WorkersOptions): (pool: WorkerPool) => boolean {
  const taskType = task === undefined ? undefined : parseName(task, '--task');
  const inDomain = domain === undefined || domain === '-' ? domain : parseName(domain, '--domain');
  return (pool) =>
    (taskType === undefined || pool.taskType === taskType) &&
    (inDomain === undefined || (pool.domain ?? '-') === inDomain);
}

/** Nobody there who has polled lately: what waits in it waits on. */
export function isDeserted({ workers }: WorkerPool): boolean {
  return workers.every(({ stale }) => stale);
}

function describe(pools: readonly WorkerPool[]): Outcome {
  const deserted = pools.filter((pool) => isDeserted(pool) && (pool.waiting > 0 || pool.domain === undefined));
  const rows = pools.flatMap(toRows);
  return {
    exitCode: deserted.length === 0 ? 0 : 2,
    lines:
      rows.length === 0 ? ['no pool'] : formatTable(['task type', 'domain', 'waiting', 'last poll', 'worker'], rows),
    json: { ok: deserted.length === 0, workers: pools },
  };
}

function toRows({ taskType, domain, waiting, workers }: WorkerPool): string[][] {
  const head = [taskType, printable(domain ?? '-'), waiting > 0 ? paint('warning', String(waiting)) : '0'];
  if (workers.length === 0) return [[...head, paint('bad', 'nobody polls'), '-']];
  return workers.map(({ workerId, lastPollSecondsAgo, stale }) => {
    const seen = `${lastPollSecondsAgo < 60 ? `${lastPollSecondsAgo} s` : formatSpan(lastPollSecondsAgo * 1_000)} ago`;
    return [...head, stale ? paint('bad', `${seen} (gone)`) : seen, printable(workerId ?? '-')];
  });
}
