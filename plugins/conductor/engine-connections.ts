// The connections to the engine, in two shares: workers' calls and health never wait behind those of clients.

import { Engine, type EngineOptions } from '../../conductor/engine.ts';
import type { Config } from '../../config/schema.ts';

export interface EngineConnections {
  /** For whatever workers and operators ask, and for health. */
  readonly workers: Engine;
  /** For starts of executions and whatever their clients wait for. */
  readonly clients: Engine;
  /** Calls made so far. */
  calls(): number;
  /** Calls in flight end first. */
  close(): Promise<void>;
}

/** Opens none yet: each is made when it is needed. */
export function connectEngine(config: Config, observe: EngineOptions['observe']): EngineConnections {
  const url = config['conductor.url'];
  const timeoutMs = config['conductor.timeoutMs'];
  const half = config['conductor.connections'] / 2;
  const connect = (connections: number) =>
    new Engine({
      url,
      timeoutMs,
      connections: Math.max(1, connections),
      ...(observe === undefined ? {} : { observe }),
    });
  const workers = connect(Math.ceil(half));
  const clients = connect(Math.floor(half));
  return {
    workers,
    clients,
    calls: () => workers.calls + clients.calls,
    close: async () => void (await Promise.all([workers.close(), clients.close()])),
  };
}
