// Tells when a caller has left before its answer was complete.

import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

/**
 * Aborts when the connection closes before the answer has been handed over; never after a complete answer. Aborted
 * already when that has happened: whoever asks after a wait would not hear of it any more.
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
 * Whether the client has closed its side, looked at before something is begun that it should still want. A process that
 * was suspended (SIGSTOP, a machine that slept) reads a request and the end of its connection one after the other: the end
 * is seen in the next turn of the event loop.
 */
export async function hasLeft(response: ServerResponse): Promise<boolean> {
  await turn();
  await turn();
  return response.destroyed || response.req.socket.readableEnded;
}
