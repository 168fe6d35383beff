// The connections to the engine, in two shares: workers' calls and health never wait behind those of clients.

import { Engine, type EngineOptions } from '../../conductor/engine.ts';
import type { Config } from '../../config/schema.ts';
import type { Logger } from '../../logging/log.ts';

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

/** Opens none yet: each is made when it is needed. */
export function connectEngine(config: Config, log: Logger, observe: EngineOptions['observe']): EngineConnections {
  const url = config['conductor.url'];
  const timeoutMs = config['conductor.timeoutMs'];
  const half = config['conductor.connections'] / 2;
  const connect = (share: string, connections: number) =>
    new Engine({
      url,
      timeoutMs,
      connections: Math.max(1, connections),
      onServerChange: (server, state) =>
        log[state === 'used' ? 'info' : 'warn']({ server, share, state }, 'a server of the engine changed'),
      ...(observe === undefined ? {} : { observe }),
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
