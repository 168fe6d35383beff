// Installs the engine in the user's cache: downloads and unpacks it once, and creates a class archive for each Java.

import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { acquireLock } from '../setup/lock.mjs';
import { ensureClassArchive } from './class-archive.ts';
import { fetchJar } from './fetch-jar.ts';
import type { Java } from './find-java.ts';
import { hasMaven, mavenEnvironment } from './maven.ts';
import { verifyAndStamp, cacheFolder, digestOf } from './jar.ts';
import { type EngineRelease, engineRelease } from './release.ts';

/** What to install, and how. */
export interface InstallOptions {
  /** Java that unpacks and runs the engine, and runs Maven when JAVA_HOME is not set. */
  readonly java: Java;
  /** Shows a line about a long step. */
  readonly say: (line: string) => void;
  /** Defaults to `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Aborts the download; the next download starts from the beginning. */
  readonly signal?: AbortSignal | undefined;
  /** Default: the release that this product runs on. */
  readonly release?: EngineRelease;
}

/** An installed engine. */
export interface InstalledEngine {
  /** Path of the jar whose class path lists all other jars. */
  readonly jar: string;
  /** Path of the class archive; undefined when it could not be created. */
  readonly classArchive: string | undefined;
}

/**
 * Installs the engine unless it is already installed. This check takes a few milliseconds. Safe to run concurrently.
 * @throws Error with a readable message when Maven is missing or fails, or the digest is wrong
 */
export async function installEngine(options: InstallOptions): Promise<InstalledEngine> {
  const { java, say, env = process.env, release = engineRelease } = options;
  const cache = cacheFolder(env);
  const folder = join(cache, `conductor-server-${release.version}`);
  const jar = join(folder, release.fileName);
  await mkdir(cache, { recursive: true });
  const withLock = async <T>(work: () => Promise<T>): Promise<T> => {
    const unlock = await acquireLock(join(cache, 'install.lock'), {
      onWait: (pid) => say(`Another process (${pid}) is preparing the engine; waiting for it.`),
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

/**
 * Returns whether {@link installEngine} has what it needs: an installed engine, its jar in the user's Maven repository,
 * or Maven to download the jar.
 */
export async function canInstallEngine(options: Pick<InstallOptions, 'java' | 'env' | 'release'>): Promise<boolean> {
  const { java, env = process.env, release = engineRelease } = options;
  if (await isUnpacked(join(cacheFolder(env), `conductor-server-${release.version}`), release)) return true;
  return (await findInMavenRepository(env, release)) !== undefined || hasMaven(mavenEnvironment(java, env));
}

/** The published jar, with a verified digest. */
interface BootJar {
  readonly path: string;
  /** True when the jar is in the user's Maven repository. Such a jar must not be deleted. */
  readonly isInMavenRepository: boolean;
}

async function findBootJar(cache: string, options: InstallOptions): Promise<BootJar> {
  const { java, say, env = process.env, signal, release = engineRelease } = options;
  const inMavenRepository = await findInMavenRepository(env, release);
  if (inMavenRepository !== undefined) return { path: inMavenRepository, isInMavenRepository: true };
  const fetched = join(cache, release.fileName);
  await fetchJar({ release, folder: join(cache, 'maven'), java, say, env, signal }, fetched);
  await verifyAndStamp(fetched, release);
  return { path: fetched, isInMavenRepository: false };
}

/** Returns the path of the jar in the user's Maven repository; undefined when there is none with the right digest. */
async function findInMavenRepository(env: NodeJS.ProcessEnv, release: EngineRelease): Promise<string | undefined> {
  const path = join(env['HOME'] ?? homedir(), '.m2/repository', release.repositoryPath, release.fileName);
  const found = await stat(path).catch(() => undefined);
  return found?.size === release.bytes && (await digestOf(path)) === release.sha256 ? path : undefined;
}

interface UnpackOptions {
  readonly folder: string;
  readonly java: Java;
  readonly release: EngineRelease;
}

/**
 * Unpacks the jar into Spring Boot's extracted layout, a small jar that refers to the other jars. The engine then
 * starts faster.
 */
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

/**
 * Returns a string with the digest of the release and the number and total size of the files. It reveals deleted or
 * truncated files.
 */
async function contentOf(folder: string, { fileName, sha256 }: EngineRelease): Promise<string> {
  const files = [join(folder, fileName)];
  for (const name of await readdir(join(folder, 'lib'))) files.push(join(folder, 'lib', name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return `${sha256} ${files.length} files ${bytes} bytes\n`;
}
