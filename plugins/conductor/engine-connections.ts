// Connects to the engine with two connection pools, so that calls from workers and operators never wait for
// client requests.

import { Engine, type EngineCall } from '#lib/conductor/engine.ts';
import { EngineContact } from '#lib/conductor/engine-contact.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';

/** The two connection pools. */
export interface EngineConnections {
  /** For calls from workers and operators, and for readiness checks. */
  readonly workers: Engine;
  /** For starting executions and waiting for them. */
  readonly clients: Engine;
  /** Addresses of servers that do not respond while others do. */
  leftOut(): readonly string[];
  /** Number of calls so far. */
  calls(): number;
  /** Closes the connections after the calls in flight have ended. */
  close(): Promise<void>;
}

/**
 * Creates the pools. Connections open on demand. Warnings about individual servers are logged only after the engine's
 * first response.
 * @param observe called for every call
 */
export function connectEngine(config: Config, log: Logger, observe: (call: EngineCall) => void): EngineConnections {
  const url = config['conductor.url'];
  const timeoutMs = config['conductor.timeoutMs'];
  let isLogged = false;
  const half = config['conductor.connections'] / 2;
  const logServerChange = (server: string, share: string, state: 'left out' | 'used') =>
    log[state === 'used' ? 'info' : 'warn']({ server, share, state }, 'an engine server changed state');
  const contact = new EngineContact(() => {
    log.info('the engine responds');
    for (const [share, engine] of Object.entries({ workers, clients }))
      for (const server of engine.leftOut) logServerChange(server, share, 'left out');
  });
  const connect = (share: string, connections: number) =>
    new Engine({
      url,
      timeoutMs,
      connections: Math.max(1, connections),
      contact,
      onServerChange(server, state) {
        if (contact.isMade) logServerChange(server, share, state);
      },
      observe(call) {
        if (call.isStarting === true && !isLogged) log.info('the engine does not respond yet');
        isLogged ||= call.isStarting === true;
        observe(call);
      },
    });
  const workers = connect('workers', Math.ceil(half));
  const clients = connect('clients', Math.floor(half));
  return {
    workers,
    clients,
    leftOut: () => [...new Set([...workers.leftOut, ...clients.leftOut])],
    calls: () => workers.calls + clients.calls,
    close: async () => void (await Promise.all([workers.close(), clients.close()])),
  };
}
