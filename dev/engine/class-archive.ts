// Creates a class data sharing (CDS) archive, which cuts the engine's start time to a quarter.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type Ending, startChild } from '../stack/child.ts';
import { engineArguments, engineEnvironment, engineProperties, javaOptions } from './engine-arguments.ts';
import type { Java } from './find-java.ts';

/** The Java and the engine that the archive is created for. */
export interface ClassArchiveOptions {
  readonly java: Java;
  /** Path of the engine's jar. */
  readonly jar: string;
  /** Folder of the archive. */
  readonly cache: string;
  readonly say: (line: string) => void;
  /** Runs work while holding a lock that excludes other processes. */
  readonly withLock: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Longest time that creating an archive may take, in milliseconds. */
const deadlineMs = 180_000;
/** Time after which a failed attempt is repeated, in milliseconds. */
const retryAfterMs = 86_400_000;

/**
 * Returns the path of the archive for this build of Java, and creates the archive if it is missing. Returns undefined
 * when the archive cannot be created; the engine then starts more slowly.
 */
export async function ensureClassArchive(options: ClassArchiveOptions): Promise<string | undefined> {
  const { java, jar, cache, withLock } = options;
  const path = join(cache, `classes-${await fingerprint(java, jar)}.jsa`);
  if (existsSync(path)) return path;
  if (await hasFailed(`${path}.failed`)) return undefined;
  return withLock(async () => {
    if (existsSync(path)) return path;
    const { signal } = await createArchive(options, `${path}.draft`);
    const isMade = await rename(`${path}.draft`, path).then(
      () => true,
      () => false,
    );
    // An interrupted attempt is repeated at the next start.
    if (!isMade && signal === null) await writeFile(`${path}.failed`, '').catch(() => undefined);
    return isMade ? path : undefined;
  });
}

/**
 * Returns true when an attempt failed within the last day. After a day, the cause, such as a full disk, may be gone.
 */
async function hasFailed(marker: string): Promise<boolean> {
  const attempt = await stat(marker).catch(() => undefined);
  return attempt !== undefined && Date.now() - attempt.mtimeMs < retryAfterMs;
}

async function fingerprint(java: Java, jar: string): Promise<string> {
  const command = await realpath(java.command);
  const { mtimeMs, size } = await stat(command);
  const parts = [command, mtimeMs, size, jar, (await stat(jar)).mtimeMs, ...javaOptions(java)];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 12);
}

/**
 * Starts the engine on a temporary database; the engine exits as soon as everything is loaded, and Java writes the
 * archive.
 */
async function createArchive({ java, jar, cache, say }: ClassArchiveOptions, path: string): Promise<Ending> {
  say('Preparing the workflow engine for quick starts (once, about 20 s).');
  const folder = join(cache, 'training');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const child = startChild({
    command: java.command,
    args: [
      ...javaOptions(java),
      `-XX:ArchiveClassesAtExit=${path}`,
      '-Dspring.context.exit=onRefresh',
      '-jar',
      jar,
      ...engineArguments({ properties: [engineProperties], database: join(folder, 'conductor.db'), port: 0 }),
    ],
    env: engineEnvironment(process.env),
    cwd: folder,
    output: new Writable({ write: (_chunk, _encoding, done) => done() }),
    waitUntilReady: async () => ({}),
  });
  const timer = setTimeout(() => child.kill(), deadlineMs);
  const ending = await child.ended;
  clearTimeout(timer);
  await rm(folder, { recursive: true, force: true });
  return ending;
}
