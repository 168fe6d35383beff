// Tells when a caller has left before its answer was complete.

import type { ServerResponse } from 'node:http';

/** Aborts when the connection closes before the answer has been handed over; never after a complete answer. */
export function signalWhenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
