// Detects clients that close the connection before their response is complete.

import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

/**
 * Returns a signal that aborts when the connection closes before the response is complete; never after a complete
 * response. The signal is already aborted if the connection closed before the call, because `close` is not emitted
 * again.
 */
export function signalWhenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const closed = () => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.destroyed) closed();
  else response.once('close', closed);
  return gone.signal;
}

/**
 * Resolves to true if the client has closed its side of the connection. Call it before starting work for the client. A
 * process that was suspended (SIGSTOP, machine sleep) reads the request first, and the end of its connection only in
 * the next iteration of the event loop. The check therefore waits for the end of this iteration and of the next.
 */
export async function hasLeft(response: ServerResponse): Promise<boolean> {
  await turn();
  await turn();
  return response.destroyed || response.req.socket.readableEnded;
}
