// A closed loop: a number of clients, each of which sends its next request when it has the response to the previous one.

import { setTimeout as delay } from 'node:timers/promises';

export interface LoopOptions {
  /** Clients. */
  readonly inFlight: number;
  /** No request begins after this time; those in flight are waited for. */
  readonly seconds: number;
  /** Number of requests after which the loop ends early. Default: no limit. */
  readonly requests?: number;
  /** Sends one request. @throws Error that describes an unexpected response */
  readonly request: () => Promise<unknown>;
}

/** What one loop saw. */
export interface Sample {
  /** Milliseconds of every request that succeeded, in ascending order. */
  readonly latencies: readonly number[];
  readonly failures: number;
  /** What went wrong first; undefined when nothing did. */
  readonly firstFailure: string | undefined;
  /** From the first request's start to the last response, in seconds. */
  readonly elapsedSeconds: number;
}

/** Pause after a failed request, which prevents a busy loop (milliseconds). */
const pauseAfterFailureMs = 50;

/** Runs the loop; a request that fails is counted, never thrown. */
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
