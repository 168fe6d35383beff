// Downloads the engine's jar with Maven and shows the progress.

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createProgress } from '../setup/progress.mjs';
import type { Java } from './find-java.ts';
import { hasMaven, mavenEnvironment, runMaven } from './maven.ts';
import type { EngineRelease } from './release.ts';

/** What to download, and how. */
export interface FetchOptions {
  readonly release: EngineRelease;
  /** Folder for Maven's downloads; removed when the jar is complete. */
  readonly folder: string;
  /** Java that runs Maven when JAVA_HOME is not set. */
  readonly java: Java;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
  /** Aborts the download; the next download starts from the beginning. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads the jar to `target`, which must be on the same file system as `folder`.
 * @throws Error with a readable message when Maven is missing or fails
 */
export async function fetchJar(options: FetchOptions, target: string): Promise<void> {
  const { release, folder, java, say, signal } = options;
  const env = mavenEnvironment(java, options.env);
  if (!(await hasMaven(env))) throw new Error(noMavenMessage(release));
  const size = `${megabytes(release.bytes)} MB, about ${diskGigabytes} GB on disk in ${dirname(folder)}`;
  say(`Downloading the workflow engine (Conductor ${release.version}, ${size}, only once) with Maven.`);
  await mkdir(folder, { recursive: true });
  // A separate repository, because the default repository would keep a second copy of the jar.
  const repository = join(folder, 'repository');
  const artifactFolder = join(repository, release.repositoryPath);
  const progress = createProgress();
  let isFetching = true;
  const timer = setInterval(() => {
    void sizeSoFar(artifactFolder, release).then((bytes) => {
      if (isFetching) progress.show(progressLine(bytes, release));
    });
  }, 300);
  try {
    const get = ['org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get', '-Dtransitive=false'];
    // -U: without it, Maven remembers for a day that an artifact was not found, even after the cause is repaired.
    const args = ['-B', '-U', `-Dmaven.repo.local=${repository}`, ...get, `-Dartifact=${release.coordinates}`];
    await runMaven({ args, cwd: folder, env, signal });
  } catch (error) {
    throw new Error(`Maven could not fetch ${release.coordinates}:\n${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    isFetching = false;
    clearInterval(timer);
    progress.clear();
  }
  await rename(join(artifactFolder, release.fileName), target);
  await rm(folder, { recursive: true, force: true });
}

function noMavenMessage({ fileName, coordinates, repositoryPath }: EngineRelease): string {
  return [
    'The workflow engine is fetched through Maven, and no working mvn is in PATH. Do one of these:',
    '  - install Maven',
    `  - put ${fileName} (${coordinates}) into ~/.m2/repository/${repositoryPath}/`,
    '  - use an engine that is already running: CONDUCTOR_URL=http://host:port',
  ].join('\n');
}

/** Returns the size of the artifact's largest file. Maven uses a temporary name until the download is complete. */
async function sizeSoFar(artifactFolder: string, { fileName }: EngineRelease): Promise<number> {
  const names = await readdir(artifactFolder).catch(() => []);
  const sizes = names
    .filter((name) => name.startsWith(fileName))
    .map((name) =>
      stat(join(artifactFolder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return Math.max(0, ...(await Promise.all(sizes)));
}

function progressLine(bytes: number, release: EngineRelease): string {
  if (bytes === 0) return '  Maven is preparing the download';
  const percent = Math.floor((bytes / release.bytes) * 100);
  return `  ${megabytes(bytes)} of ${megabytes(release.bytes)} MB (${percent} %)`;
}

/** Measured size of the unpacked engine and its class archive. */
const diskGigabytes = 0.5;

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
