// Stores the results of runs: one file for each case and topology, and the histories of runs in which something was
// wrong.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Circumstances } from '../../bench/report/machine.ts';
import type { PersonCounts } from './check-history.ts';
import type { Invariant, Violation } from './violation.ts';
import type { EngineKind } from './engine.ts';
import type { Availability, Recovery } from './figures.ts';
import type { Levels } from './levels.ts';
import type { StoreLosses } from './store-losses.ts';
import type { AppendFsync } from '../stack/redis-server.ts';

export interface Topology {
  readonly store: EngineKind;
  readonly engines: number;
  readonly routers: number;
  /** Present when Redis syncs before it acknowledges a write. Absent when it syncs every second, or on other stores. */
  readonly appendfsync?: 'always';
}

/** Returns the topology of a run, without `everysec`, the default of Redis. */
export function topologyOf({
  appendfsync,
  ...topology
}: Omit<Topology, 'appendfsync'> & { readonly appendfsync: AppendFsync | undefined }): Topology {
  return appendfsync === 'always' ? { ...topology, appendfsync } : topology;
}

/** Result of one run of a case. Times are in milliseconds. */
export interface Findings {
  readonly case: string;
  readonly topology: Topology;
  readonly circumstances: Circumstances;
  /** Identifies the product's code (see product-code.ts). */
  readonly product: string;
  readonly seed: number;
  readonly slack: number;
  /** Share of the case's load; absent in older results, whose runs had the whole load. */
  readonly load?: number;
  readonly tries: number;
  readonly kills: number;
  /** Number of requests, excluding those whose connection was refused. */
  readonly requests: number;
  /** Number of requests by ending: `200`, `504 wait-budget-spent`, `closed ECONNRESET`. */
  readonly ends: Readonly<Record<string, number>>;
  /** Number of checks of each invariant. */
  readonly judged: Readonly<Record<Invariant, number>>;
  /** Persons whose final values were compared for I2; absent in older results. */
  readonly persons?: PersonCounts;
  readonly violations: number;
  /** The first violations. */
  readonly examples: readonly Violation[];
  /**
   * With an engine on Redis, the data lost by Redis servers that were killed, and the violations that this loss
   * explains.
   */
  readonly losses?: StoreLosses | undefined;
  readonly complaints: readonly string[];
  readonly notes: readonly string[];
  /** Why the run was aborted; its figures cover the time until then. */
  readonly brokeOff?: string | undefined;
  readonly recoveries: readonly Recovery[];
  readonly undisturbed: Availability;
  /** PATCHes with a 2xx response, PATCHes unknown to MDM or a college, and writes that were applied twice. */
  readonly patches: { readonly acknowledged: number; readonly lost: number; readonly doubled: number };
  /** Applied writes without an acknowledgement, and the PATCHes among them of which MDM was not notified. */
  readonly unacknowledged: { readonly applied: number; readonly withoutMdm: number };
  /** Repeated writes for which a back end replayed its response. */
  readonly replays: number;
  readonly levels: { readonly before: Levels; readonly after: Levels } | undefined;
  readonly seconds: number;
}

/** Returns true when nothing was wrong with a run. */
export const hasHeld = ({ violations, complaints, brokeOff }: Findings) =>
  violations === 0 && complaints.length === 0 && brokeOff === undefined;

const resultsDir = fileURLToPath(new URL('results/', import.meta.url));

/** Returns a name such as `postgresql`, `postgresql-2x2` (engines, routers) or `redis-always` (appendfsync). */
export function topologyName({ store, engines, routers, appendfsync }: Topology): string {
  const name = appendfsync === undefined ? store : `${store}-${appendfsync}`;
  return engines === 1 && routers === 1 ? name : `${name}-${engines}x${routers}`;
}

type Named = Pick<Findings, 'case' | 'topology'>;

/** A folder with one file of runs for each case and topology, and the histories of failures. */
export class Results {
  readonly #dir: string;

  constructor(dir = resultsDir) {
    this.#dir = dir;
  }

  /** Adds a run to the other runs of its case and topology. */
  keep(findings: Findings): void {
    mkdirSync(this.#dir, { recursive: true });
    write(this.#fileOf(findings), [...this.runsOf(findings), findings]);
  }

  /** Stores the compressed history and process output of a run in which something was wrong. */
  keepFailure(run: Named & Pick<Findings, 'product' | 'seed'>, texts: Readonly<Record<string, string>>): void {
    const dir = join(this.#dir, failures);
    mkdirSync(dir, { recursive: true });
    for (const [name, text] of Object.entries(texts)) {
      const file = `${run.case}.${topologyName(run.topology)}.${run.product}.${run.seed}.${name}.gz`;
      writeFileSync(join(dir, file), gzipSync(text));
    }
  }

  /** Returns every run, by case and topology. */
  read(): Findings[][] {
    return this.#names('.json').map((name) => readRuns(join(this.#dir, name)));
  }

  /** Returns the runs of one case and topology. */
  runsOf(run: Named): Findings[] {
    const file = this.#fileOf(run);
    return existsSync(file) ? readRuns(file) : [];
  }

  /** Removes the results of other product code. */
  removeStale(product: string): void {
    for (const name of this.#names('.json')) {
      const file = join(this.#dir, name);
      const current = readRuns(file).filter((run) => run.product === product);
      if (current.length > 0) write(file, current);
      else rmSync(file);
    }
    for (const name of this.#names('.gz', failures))
      if (!name.includes(`.${product}.`)) rmSync(join(this.#dir, failures, name));
  }

  #fileOf({ case: name, topology }: Named): string {
    return join(this.#dir, `${name}.${topologyName(topology)}.json`);
  }

  #names(ending: string, folder = '.'): string[] {
    const dir = join(this.#dir, folder);
    const names = existsSync(dir) ? readdirSync(dir) : [];
    return names.filter((name) => name.endsWith(ending)).toSorted();
  }
}

const failures = 'failures';
const readRuns = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Findings[];
const write = (file: string, runs: readonly Findings[]) => writeFileSync(file, `${JSON.stringify(runs, null, 2)}\n`);
