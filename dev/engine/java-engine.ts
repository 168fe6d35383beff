// Runs the engine's jar with Java on 127.0.0.1, by default on an SQLite file in the state directory.

import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../stack/child.ts';
import {
  type DatabaseServer,
  engineArguments,
  engineEnvironment,
  engineProperties,
  isRedisStore,
  javaOptions,
  redisProperties,
  type RedisStore,
} from './engine-arguments.ts';
import type { Java } from './find-java.ts';
import type { InstalledEngine } from './install-engine.ts';

/** Overrides of the product's settings, for benchmarks and tests. */
export interface EngineTuning {
  /** Path of one property file, or paths of several; later files take precedence. */
  readonly properties?: string | readonly string[] | undefined;
  /** Default: an SQLite file in the state directory. */
  readonly database?: DatabaseServer | RedisStore | undefined;
  /** JVM options that replace all others. */
  readonly javaOptions?: readonly string[] | undefined;
  /** Additional environment variables; Spring takes each as a property. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** How to run the engine. */
export interface JavaEngineOptions {
  readonly java: Java;
  readonly installed: InstalledEngine;
  /** TCP port on 127.0.0.1. */
  readonly port: number;
  /** State directory; the default database is `<stateDir>/engine/conductor.db`. */
  readonly stateDir: string;
  /** Receives the engine's log. */
  readonly output: Writable;
  readonly tuning?: EngineTuning | undefined;
}

/** Longest start time in milliseconds; 4 to 25 s is usual. */
const bootDeadlineMs = 180_000;

/**
 * On a development machine the engine shares the cores with the router. A slightly lower priority lets the router
 * respond in time. A higher niceness costs throughput (a tenth to a quarter at 5), because the engine's threads then
 * wait for a thread that holds the database but gets no core.
 */
const engineNiceness = 1;

/** Starts the engine. `ready` resolves with `{ url }` when the engine is healthy. */
export function launchJavaEngine({ java, installed, port, stateDir, output, tuning = {} }: JavaEngineOptions): Child {
  const folder = resolve(stateDir, 'engine');
  mkdirSync(folder, { recursive: true });
  const temporary = emptyFolder(join(folder, 'tmp'));
  const url = `http://127.0.0.1:${port}`;
  const { jar, classArchive } = installed;
  const { database = join(folder, 'conductor.db') } = tuning;
  const { properties = isRedisStore(database) ? redisProperties : engineProperties } = tuning;
  const files = typeof properties === 'string' ? [properties] : properties;
  return startChild({
    command: java.command,
    args: [
      ...(tuning.javaOptions ?? javaOptions(java)),
      ...(classArchive === undefined ? [] : [`-XX:SharedArchiveFile=${classArchive}`]),
      `-Djava.io.tmpdir=${temporary}`,
      '-jar',
      jar,
      ...engineArguments({ properties: files, database, port }),
      '--server.address=127.0.0.1',
    ],
    env: { ...engineEnvironment(process.env), ...tuning.environment },
    cwd: folder,
    output,
    stopDeadlineMs: 15_000,
    niceness: engineNiceness,
    waitUntilReady: async (signal) => {
      await untilHealthy(url, signal);
      return { url };
    },
  });
}

/**
 * Empties the folder for temporary files: at each start the engine creates a folder in it and never removes that
 * folder.
 */
function emptyFolder(path: string): string {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path);
  return path;
}

/**
 * Resolves when the engine at `url` reports that it is healthy.
 * @throws Error after three minutes, or when `signal` aborts
 */
export async function untilHealthy(url: string, signal: AbortSignal): Promise<void> {
  const end = Date.now() + bootDeadlineMs;
  while (!(await isHealthy(url))) {
    if (Date.now() > end) throw new Error(`the engine at ${url} does not respond`);
    await delay(100, undefined, { signal });
  }
}

/** Returns true when the engine at `url` reports that it is healthy. Never throws. */
export async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) });
    const { healthy } = (await response.json()) as { healthy?: unknown };
    return response.ok && healthy === true;
  } catch {
    return false;
  }
}
