// Finds and runs the machine's Maven, with the user's mirrors, proxies and credentials.

import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { startChild } from '../stack/child.ts';

/** A Maven installation. */
export interface Maven {
  /** Path of the `mvn` command. */
  readonly command: string;
  /** Version such as `3.9.11`. */
  readonly version: string;
  /** Path of the settings for all users of this machine. */
  readonly globalSettings: string;
}

/** One run of Maven. */
export interface MavenRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts the run. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the first `mvn` in PATH; undefined when there is none or it does not work. */
export async function findMaven(env: NodeJS.ProcessEnv): Promise<Maven | undefined> {
  for (const folder of (env['PATH'] ?? '').split(':').filter((path) => path !== '')) {
    const command = join(folder, 'mvn');
    const isThere = await access(command, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return readMavenVersion(command, env);
  }
  return undefined;
}

/** Runs `mvn -v`, which prints `Apache Maven 3.9.11 (…)` and `Maven home: <folder>`. */
function readMavenVersion(command: string, env: NodeJS.ProcessEnv): Promise<Maven | undefined> {
  return new Promise((resolve) => {
    execFile(command, ['-B', '-v'], { env, timeout: 60_000 }, (_error, stdout) => {
      const version = /Apache Maven (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
      const home = /^Maven home: (.+)$/m.exec(stdout)?.[1];
      if (version === undefined || home === undefined) resolve(undefined);
      else resolve({ command, version, globalSettings: join(home.trim(), 'conf/settings.xml') });
    });
  });
}

/** Runs Maven to its end. @throws Error with Maven's error lines when it fails, or the signal's reason when aborted */
export async function runMaven({ command }: Maven, { args, cwd, env, signal }: MavenRun): Promise<void> {
  let printed = '';
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      printed = (printed + chunk.toString('utf8')).slice(-20_000);
      done();
    },
  });
  const child = startChild({ command, args, cwd, env, output, waitUntilReady: async () => ({}) });
  const end = () => void child.stop();
  signal?.addEventListener('abort', end, { once: true });
  const { code } = await child.ended;
  signal?.removeEventListener('abort', end);
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(errorLines(printed));
}

function errorLines(printed: string): string {
  const lines = printed.split('\n').map((line) => line.trim());
  const errors = lines.filter((line) => line.startsWith('[ERROR]') && line.length > '[ERROR] '.length);
  return (errors.length > 0 ? errors.slice(0, 6) : lines.slice(-6)).map((line) => `  ${line}`).join('\n');
}
