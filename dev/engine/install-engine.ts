// The engine in the cache of this user, ready to start quickly: fetched once, unpacked once, and with an archive of its classes for each Java.

import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { acquireLock } from '../setup/lock.mjs';
import { ensureClassArchive } from './class-archive.ts';
import { fetchJar } from './fetch-jar.ts';
import type { Java } from './find-java.ts';
import { verifyAndStamp, cacheFolder, digestOf } from './jar.ts';
import { type EngineRelease, engineRelease } from './release.ts';

export interface InstallOptions {
  /** Unpacks and runs the engine, and Maven when JAVA_HOME does not say which Java should. */
  readonly java: Java;
  /** Gets a line about what takes long. */
  readonly say: (line: string) => void;
  /** Defaults to `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the fetch; what has arrived is kept for the next one. */
  readonly signal?: AbortSignal | undefined;
  /** Default: the one this product runs on. */
  readonly release?: EngineRelease;
}

/** What is started. */
export interface InstalledEngine {
  /** Path of the jar that names all others. */
  readonly jar: string;
  /** Path of the archive of the classes this Java loads; undefined when it could not be made. */
  readonly classArchive: string | undefined;
}

/**
 * Sees to it that everything is in place; a few milliseconds when it is. Two starts at once do it once.
 * @throws Error for people, when there is no Maven, it fails, or the digest is wrong
 */
export async function installEngine(options: InstallOptions): Promise<InstalledEngine> {
  const { java, say, env = process.env, release = engineRelease } = options;
  const cache = cacheFolder(env);
  const folder = join(cache, `conductor-server-${release.version}`);
  const jar = join(folder, release.fileName);
  await mkdir(cache, { recursive: true });
  const withLock = async <T>(work: () => Promise<T>): Promise<T> => {
    const unlock = await acquireLock(join(cache, 'install.lock'), {
      onWait: (pid) => say(`Another start (process ${pid}) is preparing the engine; waiting for it.`),
    });
    return work().finally(unlock);
  };
  if (!(await isUnpacked(folder, release))) {
    await withLock(async () => {
      if (!(await isUnpacked(folder, release)))
        await unpack(await findBootJar(cache, options), { folder, java, release });
    });
  }
  return { jar, classArchive: await ensureClassArchive({ java, jar, cache, say, withLock }) };
}

/** The jar as it is published; its digest is right. */
interface BootJar {
  readonly path: string;
  /** Lies in Maven's own repository, which is not ours to tidy up. */
  readonly isInMavenRepository: boolean;
}

async function findBootJar(cache: string, options: InstallOptions): Promise<BootJar> {
  const { java, say, env = process.env, signal, release = engineRelease } = options;
  const { repositoryPath, fileName, bytes, sha256 } = release;
  const inMavenRepository = join(env['HOME'] ?? homedir(), '.m2/repository', repositoryPath, fileName);
  const found = await stat(inMavenRepository).catch(() => undefined);
  if (found?.size === bytes && (await digestOf(inMavenRepository)) === sha256)
    return { path: inMavenRepository, isInMavenRepository: true };
  const fetched = join(cache, fileName);
  await fetchJar({ release, folder: join(cache, 'maven'), java, say, env, signal }, fetched);
  await verifyAndStamp(fetched, release);
  return { path: fetched, isInMavenRepository: false };
}

interface UnpackOptions {
  readonly folder: string;
  readonly java: Java;
  readonly release: EngineRelease;
}

/** Spring Boot's own layout for quick starts: one small jar that names the others beside it. */
async function unpack({ path, isInMavenRepository }: BootJar, { folder, java, release }: UnpackOptions): Promise<void> {
  const draft = `${folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  const args = ['-Djarmode=tools', '-jar', path, 'extract', '--destination', draft];
  await promisify(execFile)(java.command, args, { timeout: 300_000 });
  await rm(folder, { recursive: true, force: true });
  await rename(draft, folder);
  await writeFile(`${folder}.stamp`, await contentOf(folder, release));
  if (isInMavenRepository) return;
  await rm(path);
  await rm(`${path}.stamp`, { force: true });
}

async function isUnpacked(folder: string, release: EngineRelease): Promise<boolean> {
  try {
    return (await readFile(`${folder}.stamp`, 'utf8')) === (await contentOf(folder, release));
  } catch {
    return false;
  }
}

/** The release, and number and size of the files: what was deleted or cut short shows. */
async function contentOf(folder: string, { fileName, sha256 }: EngineRelease): Promise<string> {
  const files = [join(folder, fileName)];
  for (const name of await readdir(join(folder, 'lib'))) files.push(join(folder, 'lib', name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return `${sha256} ${files.length} files ${bytes} bytes\n`;
}
