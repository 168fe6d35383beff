// Idle workers: each polls through the router like a stock worker, for a task type without tasks.

import type { BenchRouter } from '../programs/stack.ts';
import { HttpClient } from '../targets/http-client.ts';

export interface IdleWorkers {
  /** Rejects when a poll fails. Never resolves. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Path of a poll with the timeout of a stock worker; the router holds the poll. */
const path = '/conductor/api/tasks/poll/batch/bench-idle_intake?count=1&timeout=5000&workerid=bench';

/** @param count number of workers; each has its own connection */
export async function startIdleWorkers(router: BenchRouter, count: number): Promise<IdleWorkers> {
  const client = new HttpClient(router.url, count);
  const headers = { authorization: `Bearer ${await router.tokenOf('worker')}` };
  const stopping = new AbortController();
  const work = async () => {
    while (!stopping.signal.aborted) await client.text({ path, headers });
  };
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});
  for (let started = 0; started < count; started++) work().catch(reject);
  return {
    failed,
    async stop() {
      stopping.abort();
      await client.destroy();
    },
  };
}
