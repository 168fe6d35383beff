// Sends probes during a load: sequential calls whose durations show whether the load affects other clients.

import { setTimeout as delay } from 'node:timers/promises';
import { type Latencies, latenciesOf } from './load-figures.ts';

export interface Probe {
  readonly url: string;
  readonly token?: string;
  /** Statuses that count as success besides 200. */
  readonly accepts?: readonly number[];
}

export interface Probes {
  /** Stops the probes. @returns the latencies of each probe by name; `failures`: the number of unexpected responses */
  stop(): Promise<Record<string, Latencies & { failures: number }>>;
}

const pauseMs = 100;

export function startProbes(probes: Readonly<Record<string, Probe>>): Probes {
  let stopped = false;
  const run = async ({ url, token, accepts = [] }: Probe) => {
    const taken: { ms: number }[] = [];
    let failures = 0;
    while (!stopped) {
      const startedAt = performance.now();
      const ok = await fetch(url, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } }).then(
        async (response) => (
          await response.arrayBuffer(),
          response.status === 200 || accepts.includes(response.status)
        ),
        () => false,
      );
      taken.push({ ms: performance.now() - startedAt });
      if (!ok) failures += 1;
      await delay(pauseMs);
    }
    return { ...latenciesOf(taken), failures };
  };
  const running = Object.entries(probes).map(async ([name, probe]) => [name, await run(probe)] as const);
  return {
    async stop() {
      stopped = true;
      return Object.fromEntries(await Promise.all(running));
    },
  };
}
