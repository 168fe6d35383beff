// How many OAuth clients ask on each route: counted, never named, so that no label grows with them.

import { Gauge, type Registry } from 'prom-client';

/** A client counts for this long after its last request, in milliseconds. */
const activeMs = 300_000;
/** Clients remembered on one route; beyond it, those longest silent do not count. */
const mostRemembered = 10_000;

export class ActiveClients {
  /** By route, when each client was last heard of: the one longest silent comes first. */
  readonly #lastSeen = new Map<string, Map<string, number>>();

  constructor(metrics: Registry) {
    const count = (route: string) => this.count(route);
    const routes = () => this.#lastSeen.keys();
    new Gauge({
      name: 'router_active_clients',
      help: 'OAuth clients that have asked within five minutes',
      labelNames: ['route'],
      registers: [metrics],
      collect() {
        for (const route of routes()) this.set({ route }, count(route));
      },
    });
  }

  /** A request of this client is over. @param now performance.now() */
  note(route: string, clientId: string, now = performance.now()): void {
    const seen = this.#lastSeen.get(route) ?? new Map<string, number>();
    this.#lastSeen.set(route, seen);
    seen.delete(clientId);
    seen.set(clientId, now);
    if (seen.size > mostRemembered) seen.delete(seen.keys().next().value as string);
  }

  /** Those of one route. @param now performance.now() */
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
