// Counts the active OAuth clients of each route. Client ids are not used as labels, so the number of series is bounded.

import type { Registry } from 'prom-client';
import { BoundedMap } from '#lib/gc/bounded.ts';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';

/** How long a client counts as active after its last request, in milliseconds. */
const activeMs = 300_000;
/** Maximum number of clients remembered per route; beyond it, the least recently seen client is dropped. */
const mostRemembered = 10_000;

/** Counts the clients with a request in the last five minutes, for the gauge `router_active_clients`. */
export class ActiveClients {
  /** Time of the last request (performance.now()) by route and client; the least recently seen client comes first. */
  readonly #lastSeen = new Map<string, BoundedMap<string, number>>();

  constructor(metrics: Registry) {
    observeGauge(
      metrics,
      {
        name: 'router_active_clients',
        help: 'OAuth clients with a request in the last five minutes',
        labelNames: ['route'],
      },
      () => [...this.#lastSeen.keys()].map((route) => ({ labels: { route }, value: this.count(route) })),
    );
  }

  /** Records a request from a client. @param now performance.now() */
  record(route: string, clientId: string, now = performance.now()): void {
    const seen = this.#lastSeen.get(route) ?? new BoundedMap<string, number>(mostRemembered);
    this.#lastSeen.set(route, seen);
    seen.delete(clientId);
    seen.set(clientId, now);
  }

  /** Returns the number of active clients of a route. @param now performance.now() */
  count(route: string, now = performance.now()): number {
    const seen = this.#lastSeen.get(route);
    if (seen === undefined) return 0;
    for (const [clientId, at] of seen) {
      if (now - at < activeMs) break;
      seen.delete(clientId);
    }
    return seen.size;
  }
}
