// Readiness checks: the engine responds, definitions are registered, and workers poll.

import type { Engine } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { ReadinessCheck } from '../../gateway/plugin-api/plugin-api.ts';
import type { TaskQueues } from './dispatch/task-queues.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';

/** A task type counts as served when a worker has polled it within this time, in milliseconds. */
const polledWithinMs = 60_000;

/**
 * Checks that the engine is healthy and every workflow version that requests need is registered.
 * @param needed called at each check: the versions are known only after the policies are created
 */
export function createEngineCheck(
  engine: Pick<Engine, 'request'>,
  needed: () => readonly NeededWorkflow[],
): ReadinessCheck {
  return async () => {
    const { status } = await engine.request({ method: 'GET', path: '/health', timeoutMs: 2_000 });
    if (status !== 200) return [`the engine's health check returned ${status}`];
    return missingFrom(engine, needed());
  };
}

/**
 * Checks, before the activation of a configuration, that its workflow versions are registered. Skips versions that are in
 * use, so that other changes can be activated while the engine is down.
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

/** Checks that a worker polls each task type, through this router or, by Conductor's poll data, through another. */
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
