// Provides the engines of a run: one for all cases, except for cases that need a separate engine.

import type { AppendFsync } from '../stack/redis-server.ts';
import type { Case } from './cases/case.ts';
import { type EngineKind, type FaultEngine, startFaultEngine } from './engine.ts';
import type { Options } from './options.ts';
import { type Topology, topologyOf } from './results.ts';

type Wanted = Pick<Options, 'store' | 'engines' | 'appendfsync' | 'templateDir'>;

/** Returns the store for a case: the one that the case specifies, otherwise that of the run. */
export const storeOf = ({ engine }: Case, { store }: Pick<Options, 'store'>): EngineKind => engine?.kind ?? store;

/** Returns the topology in which a case runs. */
export function topologyFor(chosen: Case, options: Wanted & Pick<Options, 'routers'>): Topology {
  return topologyOf({
    ...{ store: storeOf(chosen, options), engines: countOf(chosen, options) },
    routers: options.routers ?? chosen.world?.routers ?? 1,
    appendfsync: appendfsyncOf(chosen, options),
  });
}

function countOf(chosen: Case, options: Wanted): number {
  return chosen.engine?.count ?? (storeOf(chosen, options) === options.store ? options.engines : 1);
}

function appendfsyncOf(chosen: Case, options: Wanted): AppendFsync | undefined {
  return storeOf(chosen, options) === 'redis' ? options.appendfsync : undefined;
}

export class Engines {
  readonly #options: Wanted;
  #running: { engine: FaultEngine; needs: string } | undefined;

  constructor(options: Wanted) {
    this.#options = options;
  }

  /** Returns the engine for a case; starts one unless the running engine is suitable. */
  async for(chosen: Case): Promise<FaultEngine> {
    const { environment, ...own } = chosen.engine ?? {};
    const kind = storeOf(chosen, this.#options);
    const wanted = {
      ...{ ...own, count: countOf(chosen, this.#options), ownServer: own.ownServer ?? kind === 'postgresql' },
      appendfsync: appendfsyncOf(chosen, this.#options),
    };
    const needs = environment === undefined ? JSON.stringify({ ...wanted, kind }) : crypto.randomUUID();
    if (this.#running !== undefined && this.#running.needs !== needs) await this.stop();
    const { templateDir } = this.#options;
    const start = () => startFaultEngine(kind, { ...wanted, templateDir, environment: environment?.() });
    this.#running ??= { engine: await start(), needs };
    return this.#running.engine;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.engine.stop();
  }
}
