// The connections to the engine, in two shares: workers' calls and health never wait behind those of clients.

import { Engine, type EngineCall } from '#lib/conductor/engine.ts';
import { EngineContact } from '#lib/conductor/engine-contact.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';

export interface EngineConnections {
  /** For whatever workers and operators ask, and for health. */
  readonly workers: Engine;
  /** For starts of executions and whatever their clients wait for. */
  readonly clients: Engine;
  /** Addresses of servers that do not answer while others do. */
  leftOut(): readonly string[];
  /** Calls made so far. */
  calls(): number;
  /** Calls in flight end first. */
  close(): Promise<void>;
}

/**
 * Opens none yet: each is made when it is needed. Nothing is warned of before the engine has answered once.
 * @param observe told of every call
 */
export function connectEngine(config: Config, log: Logger, observe: (call: EngineCall) => void): EngineConnections {
  const url = config['conductor.url'];
  const timeoutMs = config['conductor.timeoutMs'];
  let isSaid = false;
  const half = config['conductor.connections'] / 2;
  const changed = (server: string, share: string, state: 'left out' | 'used') =>
    log[state === 'used' ? 'info' : 'warn']({ server, share, state }, 'a server of the engine changed');
  const contact = new EngineContact(() => {
    log.info('the engine answers');
    for (const [share, engine] of Object.entries({ workers, clients }))
      for (const server of engine.leftOut) changed(server, share, 'left out');
  });
  const connect = (share: string, connections: number) =>
    new Engine({
      url,
      timeoutMs,
      connections: Math.max(1, connections),
      contact,
      onServerChange(server, state) {
        if (contact.isMade) changed(server, share, state);
      },
      observe(call) {
        if (call.isStarting === true && !isSaid) log.info('the engine does not answer yet');
        isSaid ||= call.isStarting === true;
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
