// Tells when a caller has left before its answer was complete.

import type { ServerResponse } from 'node:http';

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
