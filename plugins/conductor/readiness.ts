// Readiness checks: the engine responds and supports the calls that the router needs, definitions are registered, and
// workers poll.

import type { Engine } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { ReadinessCheck } from '../../gateway/plugin-api/plugin-api.ts';
import type { TaskQueues } from './dispatch/task-queues.ts';
import type { EngineNeeds } from './engine-needs.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';

/** A task type counts as served when a worker has polled it within this time, in milliseconds. */
const polledWithinMs = 60_000;

/**
 * Checks that the engine is healthy, that it supports the calls that the router needs, and that every workflow version
 * that requests need is registered.
 * @param needed called at each check, because the versions are known only after the policies have been created
 */
export function createEngineCheck(
  engine: Pick<Engine, 'request'>,
  needs: EngineNeeds,
  needed: () => readonly NeededWorkflow[],
): ReadinessCheck {
  return async () => {
    const { status } = await engine.request({ method: 'GET', path: '/health', timeoutMs: 2_000 });
    if (status !== 200) return [`the engine's health check returned ${status}`];
    const [calls, versions] = await Promise.all([
      needs.missingCalls(),
      missingFrom(engine, needed()),
      needs.askForHandlers(),
    ]);
    return [...calls, ...versions];
  };
}

/**
 * Checks, before the activation of a configuration, that its workflow versions are registered. Versions that the active
 * configuration already uses are skipped, so that other changes can be activated while the engine is down.
 */
export function createActivationCheck(
  engine: Pick<Engine, 'request'>,
  { needed, inUse }: { needed: readonly NeededWorkflow[]; inUse: () => readonly NeededWorkflow[] },
): ReadinessCheck {
  return async () => {
    const used = inUse();
    return missingFrom(
      engine,
      needed.filter((workflow) => !isAmong(workflow, used)),
    );
  };
}

/**
 * Checks that each task type is polled by a worker, through this router or, according to Conductor's poll data,
 * elsewhere.
 */
export function createWorkersCheck(
  pollData: PollData,
  queues: TaskQueues,
  taskTypes: readonly string[],
): ReadinessCheck {
  return async () => {
    const unseen = taskTypes.filter((taskType) => !queues.isPolled(taskType, polledWithinMs));
    if (unseen.length === 0) return [];
    const elsewhere = await pollData.polled();
    return unseen.filter((taskType) => !elsewhere.has(taskType)).map((taskType) => `no worker polls ${taskType}`);
  };
}

/**
 * The polls that the engine has seen, through any router or directly. Polls from before the first read do not count,
 * because their workers may have stopped since. While a router holds a poll, it polls the engine once a second, so the
 * time of the last poll stays recent.
 */
export class PollData {
  readonly #engine: Pick<Engine, 'request'>;
  #before: ReadonlyMap<string, number> | undefined;

  constructor(engine: Pick<Engine, 'request'>) {
    this.#engine = engine;
  }

  /** Returns the task types that were polled within the last minute. @throws EngineError */
  async polled(): Promise<Set<string>> {
    const polls = await readPolls(this.#engine);
    if (polls === undefined) return new Set();
    const before = (this.#before ??= polls);
    const isRecent = ([taskType, at]: [string, number]) =>
      Date.now() - at < polledWithinMs && at !== before.get(taskType);
    return new Set([...polls].filter(isRecent).map(([taskType]) => taskType));
  }
}

function isAmong(workflow: NeededWorkflow, others: readonly NeededWorkflow[]): boolean {
  return others.some(({ name, version }) => name === workflow.name && version === workflow.version);
}

/** Returns one message for each missing version. @throws EngineError, Error for any status but 200 and 404 */
export async function missingFrom(
  engine: Pick<Engine, 'request'>,
  needed: readonly NeededWorkflow[],
): Promise<string[]> {
  const distinct = new Map(needed.map((workflow) => [`${workflow.name} ${workflow.version}`, workflow]));
  const missing = await Promise.all([...distinct.values()].map((workflow) => isMissing(engine, workflow)));
  return missing.filter((reason) => reason !== null);
}

async function isMissing(engine: Pick<Engine, 'request'>, { name, version }: NeededWorkflow): Promise<string | null> {
  const path = `/api/metadata/workflow/${encodeURIComponent(name)}?version=${version}`;
  const { status } = await engine.request({ method: 'GET', path, timeoutMs: 2_000 });
  if (status === 200) return null;
  if (status === 404) return `workflow ${name} version ${version} is not registered`;
  throw new Error(`the engine returned ${status} for workflow ${name} version ${version}`);
}

/**
 * Returns the time of the last poll of each task type, in milliseconds since 1970; undefined when the engine does not
 * report these times.
 */
async function readPolls(engine: Pick<Engine, 'request'>): Promise<ReadonlyMap<string, number> | undefined> {
  const { status, body } = await engine.request({
    method: 'GET',
    path: '/api/tasks/queue/polldata/all',
    timeoutMs: 2_000,
  });
  if (status !== 200) return undefined;
  const polls = parseResponse<{ queueName: string; lastPollTime: number }[]>({ body });
  const latest = new Map<string, number>();
  for (const { queueName, lastPollTime } of polls)
    latest.set(queueName, Math.max(lastPollTime, latest.get(queueName) ?? 0));
  return latest;
}
