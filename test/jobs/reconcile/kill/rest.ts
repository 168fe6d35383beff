// Waits until the system is idle after a run, and reads the counts of router and engine.

import { call } from '../../../stack/client.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import type { Stack } from '../../../stack/stack.ts';

/** Time without running executions and missing follow-ups that counts as idle, in milliseconds: a few rounds. */
const quietMs = 15_000;

/**
 * Waits until no execution runs and no follow-up is missing.
 * @param engineUrl URL of a running engine
 * @returns undefined, or the reason why the system did not become idle
 */
export async function untilAtRest(engineUrl: string, stack: Stack, timeoutMs: number): Promise<string | undefined> {
  let quietSince: number | undefined;
  return pollUntil(
    'everything to come to rest',
    async () => {
      const unreconciled = Object.values(await readMetric(stack, 'router_events_unreconciled'));
      const running = (await readRunning(engineUrl)).length;
      const quiet = running === 0 && unreconciled.every((count) => count === 0);
      quietSince = quiet ? (quietSince ?? performance.now()) : undefined;
      return quietSince !== undefined && performance.now() - quietSince > quietMs;
    },
    { timeoutMs: Math.max(1_000, timeoutMs), everyMs: 1_000 },
  ).then(
    () => undefined,
    async (error: Error) => {
      const unreconciled = JSON.stringify(await readMetric(stack, 'router_events_unreconciled'));
      return `${error.message}: ${unreconciled} ${await describeRunning(engineUrl)}`;
    },
  );
}

interface Running {
  workflowName: string;
  status: string;
  startTime: number;
  tasks: { referenceTaskName: string; status: string; startTime: number; pollCount: number }[];
}

/** Counts the executions that really run: the index of a killed engine may list ended executions as running. */
async function readRunning(engineUrl: string): Promise<Running[]> {
  const query = new URLSearchParams({ query: 'status = RUNNING', start: '0', size: '50' });
  const found = (await call(`${engineUrl}/api/workflow/search?${query}`)).json<{
    results: { workflowId: string }[];
  }>();
  const executions: Running[] = [];
  for (const { workflowId } of found.results) {
    executions.push((await call(`${engineUrl}/api/workflow/${workflowId}`)).json<Running>());
  }
  return executions.filter(({ status }) => status === 'RUNNING');
}

async function describeRunning(engineUrl: string): Promise<string> {
  const age = (time: number) => (time === 0 ? '-' : `${Math.round((Date.now() - time) / 1_000)} s`);
  const executions = (await readRunning(engineUrl)).map(({ workflowName, startTime, tasks }) => {
    const steps = tasks.map(
      (task) => `${task.referenceTaskName} ${task.status} ${task.pollCount} ${age(task.startTime)}`,
    );
    return `${workflowName} ${age(startTime)} [${steps.join(', ')}]`;
  });
  return executions.join('; ');
}

/** Returns one metric of the router by label values. */
export async function readMetric(stack: Stack, name: string): Promise<Record<string, number>> {
  const { text } = await call(`${stack.operationsUrl}/metrics`);
  const lines = [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))];
  return Object.fromEntries(
    lines.map(([, labels = '', value]) => [
      [...labels.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join(' '),
      Number(value),
    ]),
  );
}

/** Returns the number of executions per status in the engine's index. */
export async function countByStatus(engineUrl: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const status of ['RUNNING', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED']) {
    const query = new URLSearchParams({ query: `status = ${status}`, start: '0', size: '1' });
    const answer = await call(`${engineUrl}/api/workflow/search?${query}`);
    counts[status] = answer.json<{ totalHits: number }>().totalHits;
  }
  return counts;
}
