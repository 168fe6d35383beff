// Runs the engine's jar with Java: on SQLite in the state directory, on 127.0.0.1 only, with the product's own properties.

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../stack/child.ts';
import {
  type DatabaseServer,
  engineArguments,
  engineEnvironment,
  engineProperties,
  javaOptions,
  queueEnvironment,
  queueProperties,
} from './engine-arguments.ts';
import type { Java } from './find-java.ts';
import type { InstalledEngine } from './install-engine.ts';

/** What an engine may be given instead of the product's own choice, by benches and suites. */
export interface EngineTuning {
  /** Path of a property file, or of several: later ones win. */
  readonly properties?: string | readonly string[] | undefined;
  /** Default: an SQLite file in the state directory. */
  readonly database?: DatabaseServer | undefined;
  /** Listens to MDM's update queue as well, at the broker that these variables name (`CONDUCTOR_EVENTQUEUES_AMQP_…`). */
  readonly updateQueue?: NodeJS.ProcessEnv | undefined;
  /** Options of the Java machine, in place of all others. */
  readonly javaOptions?: readonly string[] | undefined;
  /** Its niceness, in place of the one that lets the router go first. */
  readonly niceness?: number | undefined;
}

export interface JavaEngineOptions {
  readonly java: Java;
  readonly installed: InstalledEngine;
  /** TCP port on 127.0.0.1. */
  readonly port: number;
  /** Its database is `<stateDir>/engine/conductor.db`. */
  readonly stateDir: string;
  /** Gets its log. */
  readonly output: Writable;
  readonly tuning?: EngineTuning | undefined;
}

/** How long a boot may take, in milliseconds; 4 to 25 s is usual. */
const bootDeadlineMs = 180_000;

/**
 * The engine takes every core it gets, and here it shares them with the router, as it never does in production. A little
 * less than the router's weight: refusals, health and workers' polls get their turn in time. Much less (5 was tried)
 * takes a tenth to a quarter of what it can do, because its threads wait for one that has the database and no core.
 */
const engineNiceness = 1;

/** Starts it. `ready` resolves with `{ url }` when it answers. */
export function launchJavaEngine({ java, installed, port, stateDir, output, tuning = {} }: JavaEngineOptions): Child {
  const folder = resolve(stateDir, 'engine');
  mkdirSync(folder, { recursive: true });
  const url = `http://127.0.0.1:${port}`;
  const { jar, classArchive } = installed;
  const { properties = engineProperties, database = join(folder, 'conductor.db'), updateQueue } = tuning;
  const ownProperties = typeof properties === 'string' ? [properties] : properties;
  const files = updateQueue === undefined ? ownProperties : [...ownProperties, queueProperties];
  return startChild({
    command: java.command,
    args: [
      ...(tuning.javaOptions ?? javaOptions(java)),
      ...(classArchive === undefined ? [] : [`-XX:SharedArchiveFile=${classArchive}`]),
      '-jar',
      jar,
      ...engineArguments({ properties: files, database, port }),
      '--server.address=127.0.0.1',
    ],
    env: { ...engineEnvironment(process.env), ...(updateQueue === undefined ? {} : queueEnvironment(updateQueue)) },
    cwd: folder,
    output,
    stopDeadlineMs: 15_000,
    niceness: tuning.niceness ?? engineNiceness,
    waitUntilReady: async (signal) => {
      await untilHealthy(url, signal);
      return { url };
    },
  });
}

/**
 * Resolves when the engine at `url` says that it is healthy.
 * @throws Error after three minutes, or when `signal` aborts
 */
export async function untilHealthy(url: string, signal: AbortSignal): Promise<void> {
  const end = Date.now() + bootDeadlineMs;
  while (!(await isHealthy(url))) {
    if (Date.now() > end) throw new Error(`the engine at ${url} does not answer`);
    await delay(100, undefined, { signal });
  }
}

/** Asks the engine at `url` once. */
export async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) });
    const { healthy } = (await response.json()) as { healthy?: unknown };
    return response.ok && healthy === true;
  } catch {
    return false;
  }
}
