// Runs a worker that uses the stock Java SDK: Maven downloads the SDK's jars into the user's cache once, and a JDK
// compiles the worker.

import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findJava, type Java } from '../../dev/engine/find-java.ts';
import { cacheFolder } from '../../dev/engine/jar.ts';
import { hasMaven, runMaven } from '../../dev/engine/maven.ts';
import { acquireLock } from '../../dev/setup/lock.mjs';
import { type Child, startChild } from '../../dev/stack/child.ts';
import { CollectedOutput } from '../dev/collected-output.ts';
import { pollUntil } from '../stack/poll-until.ts';

/** The version in `pom.xml`. */
const version = '6.0.0';
const minJava = 21;
const folder = fileURLToPath(new URL('.', import.meta.url));

/** Returns the JDK, or a readable reason why the Java worker cannot run here. */
export async function findJdk(env: NodeJS.ProcessEnv = process.env): Promise<Java | string> {
  const { java } = await findJava({ minMajor: minJava, env });
  if (java === undefined) return `there is no Java ${minJava} or newer`;
  if (!existsSync(join(dirname(java.command), 'javac'))) return `${java.command} does not belong to a JDK`;
  return (await hasMaven(env)) ? java : 'no working mvn is in PATH';
}

export interface JavaWorkerOptions {
  readonly serverUrl: string;
  readonly keyId: string;
  readonly keySecret: string;
  readonly taskType: string;
}

/**
 * Starts `RouteWorker.java`; resolves when it polls.
 * @throws Error with what Maven or the compiler printed
 */
export async function startJavaWorker(java: Java, options: JavaWorkerOptions): Promise<Child> {
  const libraries = await ensureLibraries(java);
  const { serverUrl, keyId, keySecret, taskType } = options;
  const output = new CollectedOutput();
  const child = startChild({
    command: java.command,
    args: ['-cp', join(libraries, '*'), join(folder, 'RouteWorker.java'), serverUrl, keyId, keySecret, taskType],
    env: { PATH: process.env['PATH'] },
    output,
    async waitUntilReady(signal) {
      const started = () => signal.aborted || output.text.includes('polling');
      await pollUntil('the Java worker to poll', started, { timeoutMs: 60_000 });
      return {};
    },
  });
  await child.ready.catch(async (error: Error) => {
    await child.stop();
    throw new Error(`the Java worker: ${error.message}\n${output.text}`);
  });
  return child;
}

/** Returns the folder of the SDK's jars. It gets its final name only when it is complete. */
async function ensureLibraries(java: Java): Promise<string> {
  const cache = cacheFolder();
  const libraries = join(cache, `conductor-client-${version}`);
  await mkdir(cache, { recursive: true });
  const unlock = await acquireLock(join(cache, 'java-sdk.lock'), { onWait: () => {} });
  try {
    if (!existsSync(libraries)) await fetchLibraries(libraries, java);
  } finally {
    await unlock();
  }
  return libraries;
}

async function fetchLibraries(libraries: string, java: Java): Promise<void> {
  const draft = `${libraries}.draft`;
  await rm(draft, { recursive: true, force: true });
  // A separate repository, since the default one would keep a second copy. -C: a wrong checksum is an error.
  const args = ['-B', '-C', `-Dmaven.repo.local=${join(draft, 'repository')}`, '-f', join(folder, 'pom.xml')];
  const copy = [
    'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies',
    '-DincludeScope=runtime',
    `-DoutputDirectory=${join(draft, 'lib')}`,
  ];
  const env = { JAVA_HOME: dirname(dirname(java.command)), ...process.env };
  await runMaven({ args: [...args, ...copy], cwd: folder, env });
  await rename(join(draft, 'lib'), libraries);
  await rm(draft, { recursive: true, force: true });
}
