// Runs the Maven that is installed on this machine, with the user's mirrors, proxies and credentials.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { describeEnding, startChild } from '../stack/child.ts';
import type { Java } from './find-java.ts';

/** One run of Maven. */
export interface MavenRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts the run. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the environment for Maven. Maven runs on `java` unless JAVA_HOME is set. */
export function mavenEnvironment(java: Java, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const home = dirname(dirname(java.command));
  // The folder above the shim of a version manager is not a JAVA_HOME.
  return { ...(existsSync(join(home, 'bin/java')) ? { JAVA_HOME: home } : {}), ...env };
}

/** Returns whether `mvn` is in PATH and works. */
export function hasMaven(env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('mvn', ['-B', '-v'], { env, timeout: 60_000 }, (error) => resolve(error === null));
  });
}

/**
 * Runs Maven to completion.
 * @throws Error with Maven's error lines when it fails, or the signal's reason when aborted
 */
export async function runMaven({ args, cwd, env, signal }: MavenRun): Promise<void> {
  let printed = '';
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      printed = (printed + chunk.toString('utf8')).slice(-20_000);
      done();
    },
  });
  const child = startChild({ command: 'mvn', args, cwd, env, output, waitUntilReady: async () => ({}) });
  const end = () => void child.stop();
  signal?.addEventListener('abort', end, { once: true });
  const ending = await child.ended;
  signal?.removeEventListener('abort', end);
  signal?.throwIfAborted();
  if (ending.code !== 0) throw new Error(errorLines(printed || describeEnding(ending)));
}

function errorLines(printed: string): string {
  const lines = printed.split('\n').map((line) => line.trim());
  const errors = lines.filter((line) => line.startsWith('[ERROR]') && line.length > '[ERROR] '.length);
  return (errors.length > 0 ? errors.slice(0, 6) : lines.slice(-6)).map((line) => `  ${line}`).join('\n');
}
