// The client given to the Conductor SDK's task runners: their polls and updates go our way, and nothing else leaves the process.

import type { TaskRunner } from '@io-orkes/conductor-javascript';
import type { TaskResult } from '#lib/conductor/types.ts';
import type { PollQuery, TaskPolls } from './task-polls.ts';
import type { TaskUpdates } from './task-updates.ts';

type SdkClient = ConstructorParameters<typeof TaskRunner>[0]['client'];

/** A call as the SDK's generated code makes it. */
interface SdkCall {
  readonly url: string;
  readonly path?: { readonly tasktype?: string };
  readonly query?: PollQuery;
  readonly body?: TaskResult;
}

/** "No next task": the SDK would drop one that comes while it stops, so none is ever asked for with an update. */
const noNextTask = { response: { ok: true, status: 204 } } as const;

/**
 * Makes the client. Where the calls go is decided by `conductor.apiURL`, not by the SDK's own environment variables
 * (CONDUCTOR_SERVER_URL, CONDUCTOR_AUTH_KEY), and the SDK's time-outs and retries never apply. Nor are there requests
 * and answers of `fetch` between two calls of one process: they took a fifth of a worker's processor time.
 */
export function createSdkClient(polls: TaskPolls, updates: TaskUpdates): SdkClient {
  const get = async ({ url, path, query }: SdkCall) => {
    if (url !== '/api/tasks/poll/batch/{tasktype}' || path?.tasktype === undefined) throw notOurs('GET', url);
    return { data: await polls.poll(path.tasktype, query ?? {}) };
  };
  const post = async ({ url, body }: SdkCall) => {
    if (url !== '/api/tasks/update-v2' || body === undefined) throw notOurs('POST', url);
    await updates.update(body);
    return noNextTask;
  };
  return { get, post } as unknown as SdkClient;
}

function notOurs(method: string, url: string): Error {
  return new Error(`${method} ${url} is no call of a task runner: the SDK has changed`);
}
