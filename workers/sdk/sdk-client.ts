// A client for the Conductor SDK's task runners. It turns their polls and updates into exchanges, and rejects all other
// calls.

import type { TaskRunner } from '@io-orkes/conductor-javascript';
import type { TaskResult } from '#lib/conductor/types.ts';
import type { TaskExchange } from './task-exchange.ts';

type SdkClient = ConstructorParameters<typeof TaskRunner>[0]['client'];

/** A call as the SDK's generated code makes it. */
interface SdkCall {
  readonly url: string;
  readonly path?: { readonly tasktype?: string };
  readonly body?: TaskResult;
}

/**
 * The response to every update, which says that there is no next task. Tasks come only from polls, because the SDK
 * drops a task that an update returns while the SDK is stopping.
 */
const noNextTask = { response: { ok: true, status: 204 } } as const;

/**
 * Creates the client. Its calls become exchanges with the router at `conductor.apiURL`; the SDK's environment variables
 * (CONDUCTOR_SERVER_URL, CONDUCTOR_AUTH_KEY), timeouts and retries have no effect.
 */
export function createSdkClient(exchange: TaskExchange): SdkClient {
  const get = async ({ url, path }: SdkCall) => {
    if (url !== '/api/tasks/poll/batch/{tasktype}' || path?.tasktype === undefined) throw unexpectedCall('GET', url);
    return { data: await exchange.poll(path.tasktype) };
  };
  const post = async ({ url, body }: SdkCall) => {
    if (url !== '/api/tasks/update-v2' || body === undefined) throw unexpectedCall('POST', url);
    exchange.update(body);
    return noNextTask;
  };
  return { get, post } as unknown as SdkClient;
}

function unexpectedCall(method: string, url: string): Error {
  return new Error(`${method} ${url} is not a call of a task runner: the SDK has changed`);
}
