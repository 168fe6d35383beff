// A client for the Conductor SDK's task runners that forwards polls and updates to the router and rejects all other calls.

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

/** Response "no next task" to every update: the SDK would drop a task that it receives while it stops. */
const noNextTask = { response: { ok: true, status: 204 } } as const;

/**
 * Creates the client. Calls go to `conductor.apiURL`; the SDK's environment variables (CONDUCTOR_SERVER_URL,
 * CONDUCTOR_AUTH_KEY), time-outs and retries have no effect. The client calls the functions directly instead of through
 * `fetch`, which would create a request and a response object for every poll and update.
 */
export function createSdkClient(polls: TaskPolls, updates: TaskUpdates): SdkClient {
  const get = async ({ url, path, query }: SdkCall) => {
    if (url !== '/api/tasks/poll/batch/{tasktype}' || path?.tasktype === undefined) throw unexpectedCall('GET', url);
    return { data: await polls.poll(path.tasktype, query ?? {}) };
  };
  const post = async ({ url, body }: SdkCall) => {
    if (url !== '/api/tasks/update-v2' || body === undefined) throw unexpectedCall('POST', url);
    await updates.update(body);
    return noNextTask;
  };
  return { get, post } as unknown as SdkClient;
}

function unexpectedCall(method: string, url: string): Error {
  return new Error(`${method} ${url} is not a call of a task runner: the SDK has changed`);
}
