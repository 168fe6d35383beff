// Measures the requests of a normal client during an attack.

import type { Caller } from '../stack/client.ts';

export interface Times {
  requests: number;
  p50Ms: number;
  p99Ms: number;
  /** Results other than 200: a status with the problem type, or the message of an error. */
  failed: string[];
}

/** Sends `requests` requests, `concurrency` at a time. */
export async function measureWhile(caller: Caller, requests: number, concurrency = 4): Promise<Times> {
  const times: number[] = [];
  const failed: string[] = [];
  let left = requests;
  const client = async () => {
    while (left-- > 0) {
      const startedAt = performance.now();
      const failure = await caller('/movies/seven%20samurai').then(
        (answer) => (answer.status === 200 ? undefined : `${answer.status} ${answer.json<{ type?: string }>().type}`),
        (error: Error) => error.message,
      );
      times.push(performance.now() - startedAt);
      if (failure !== undefined) failed.push(failure);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.ceil(share * times.length) - 1] ?? Number.NaN);
  return { requests, p50Ms: at(0.5), p99Ms: at(0.99), failed };
}
