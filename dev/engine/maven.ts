// Runs Maven: the one of this machine, with the user's own mirrors, proxies and credentials.

import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { startChild } from '../stack/child.ts';

export interface Maven {
  /** Path of its `mvn`. */
  readonly command: string;
  /** E.g. `3.9.11`. */
  readonly version: string;
  /** Settings for all users of this machine. */
  readonly globalSettings: string;
}

export interface MavenRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

/** The `mvn` that PATH finds; undefined when there is none that works. */
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

/** `mvn -v` prints `Apache Maven 3.9.11 (…)` and `Maven home: <folder>`. */
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

/** Runs it to its end. @throws Error with the lines that say why, when it fails or is ended */
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
