// A closed loop: each of several clients sends its next request when it has the response to the previous one.

import { setTimeout as delay } from 'node:timers/promises';

export interface LoopOptions {
  /** Number of clients. */
  readonly inFlight: number;
  /** Time after which no new request is sent; the loop then waits for the requests in flight. */
  readonly seconds: number;
  /** Number of requests after which the loop ends early. Default: no limit. */
  readonly requests?: number;
  /** Sends one request. @throws Error that describes an unexpected response */
  readonly request: () => Promise<unknown>;
}

/** Results of one loop. */
export interface Sample {
  /** Latency of every request that succeeded, in milliseconds, in ascending order. */
  readonly latencies: readonly number[];
  readonly failures: number;
  /** Message of the first failure; undefined when no request failed. */
  readonly firstFailure: string | undefined;
  /** Time from the start of the first request to the last successful response, in seconds. */
  readonly elapsedSeconds: number;
}

/** Pause after a failed request, in milliseconds. It prevents a busy loop. */
const pauseAfterFailureMs = 50;

/** Runs the loop. A failed request is counted; its error is not thrown. */
export async function runClosedLoop(options: LoopOptions): Promise<Sample> {
  const { inFlight, seconds, requests = Number.POSITIVE_INFINITY, request } = options;
  const latencies: number[] = [];
  let sent = 0;
  let failures = 0;
  let firstFailure: string | undefined;
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  let lastResponseAt = startedAt;
  const client = async () => {
    while (sent < requests && performance.now() < until) {
      sent += 1;
      const sentAt = performance.now();
      try {
        await request();
        lastResponseAt = performance.now();
        latencies.push(lastResponseAt - sentAt);
      } catch (error) {
        failures += 1;
        firstFailure ??= (error as Error).message;
        await delay(pauseAfterFailureMs);
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, client));
  const elapsedSeconds = (lastResponseAt - startedAt) / 1_000;
  return { latencies: latencies.sort((a, b) => a - b), failures, firstFailure, elapsedSeconds };
}
