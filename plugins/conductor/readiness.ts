// What must be true before this router can serve: the engine answers, definitions are registered, workers poll.

import type { Engine } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { ReadinessCheck } from '../../gateway/plugin-api/plugin-api.ts';
import type { TaskQueues } from './dispatch/task-queues.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';

/** A worker counts as gone when it has not polled for this long, in milliseconds. */
const polledWithinMs = 60_000;

/**
 * Checks the engine: reachable, and every definition registered that requests may need.
 * @param needed asked each time: what the map starts is known once its policies are there
 */
export function createEngineCheck(
  engine: Pick<Engine, 'request'>,
  needed: () => readonly NeededWorkflow[],
): ReadinessCheck {
  return async () => {
    const { status } = await engine.request({ method: 'GET', path: '/health', timeoutMs: 2_000 });
    if (status !== 200) return [`the engine's health answered ${status}`];
    return missingFrom(engine, needed());
  };
}

/**
 * Checks, before a configuration takes over, the versions that its routes start. Those that are started already are not
 * asked for: while the engine is away, whatever else can be changed.
 */
export function createAddedCheck(
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

/** Checks that at least one worker of every task type polls, through this router or (by the engine's record) another. */
export function createWorkersCheck(
  engine: Pick<Engine, 'request'>,
  queues: TaskQueues,
  taskTypes: readonly string[],
): ReadinessCheck {
  return async () => {
    const unseen = taskTypes.filter((taskType) => !queues.isPolled(taskType, polledWithinMs));
    if (unseen.length === 0) return [];
    const elsewhere = await polledElsewhere(engine);
    return unseen.filter((taskType) => !elsewhere.has(taskType)).map((taskType) => `no worker polls ${taskType}`);
  };
}

function isAmong(workflow: NeededWorkflow, others: readonly NeededWorkflow[]): boolean {
  return others.some(({ name, version }) => name === workflow.name && version === workflow.version);
}

/** One line for each that the engine does not have. @throws Error when the engine cannot say, EngineError */
export async function missingFrom(
  engine: Pick<Engine, 'request'>,
  needed: readonly NeededWorkflow[],
): Promise<string[]> {
  const different = new Map(needed.map((workflow) => [`${workflow.name} ${workflow.version}`, workflow]));
  const missing = await Promise.all([...different.values()].map((workflow) => isMissing(engine, workflow)));
  return missing.filter((reason) => reason !== null);
}

async function isMissing(engine: Pick<Engine, 'request'>, { name, version }: NeededWorkflow): Promise<string | null> {
  const path = `/api/metadata/workflow/${encodeURIComponent(name)}?version=${version}`;
  const { status } = await engine.request({ method: 'GET', path, timeoutMs: 2_000 });
  if (status === 200) return null;
  if (status === 404) return `workflow ${name} version ${version} is not registered`;
  throw new Error(`the engine answered ${status} when asked for workflow ${name} version ${version}`);
}

async function polledElsewhere(engine: Pick<Engine, 'request'>): Promise<Set<string>> {
  const { status, body } = await engine.request({
    method: 'GET',
    path: '/api/tasks/queue/polldata/all',
    timeoutMs: 2_000,
  });
  if (status !== 200) return new Set();
  const polls = parseResponse<{ queueName: string; lastPollTime: number }[]>({ body });
  return new Set(
    polls.filter(({ lastPollTime }) => Date.now() - lastPollTime < polledWithinMs).map(({ queueName }) => queueName),
  );
}
