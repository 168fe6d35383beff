// Runs `npm start`, and reads the output and the log files of its programs.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopIdleWorkers } from '../stack/stack.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { compileCache } from '../stack/compile-cache.ts';

const entry = fileURLToPath(new URL('../../dev/main.ts', import.meta.url));

/**
 * Starts the stack on free ports.
 * @param env further environment variables; without CONDUCTOR_URL, the stack starts its own engine
 */
export async function launchStack(env: Record<string, string>) {
  await stopIdleWorkers();
  const { PATH, HOME, JAVA_HOME, XDG_CACHE_HOME } = process.env;
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-launched-'));
  const ports = { ROUTER_PORT: '0', OPS_PORT: '0', CONDUCTOR_PORT: '0', IDP_PORT: '0', BACKENDS_PORT: '0' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', entry, '--verbose'], {
    env: {
      ...compileCache,
      ...{ PATH, HOME, JAVA_HOME, XDG_CACHE_HOME },
      STATE_DIR: stateDir,
      ...ports,
      ...env,
    },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')));
  const exited = once(child, 'exit');
  const addressOf = (name: string) => new RegExp(`^  ${name} +(http://[\\d.:]+)`, 'm').exec(printed)?.[1] ?? '';
  const end = async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await exited;
    return child.exitCode;
  };
  const stop = async () => {
    await end();
    rmSync(stateDir, { recursive: true, force: true });
  };
  try {
    await pollUntil(
      'npm start to be ready',
      () => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${printed}`);
        return /^Ready after/m.test(printed);
      },
      { timeoutMs: 120_000 },
    );
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n${printed}`, { cause: error });
  }
  return {
    url: addressOf('router'),
    operationsUrl: addressOf('operations'),
    backEndsUrl: addressOf('back ends'),
    stateDir,
    /** Returns the output so far by source: the launcher and each log file. */
    written() {
      const logs = join(stateDir, 'logs');
      const files = readdirSync(logs).map((name) => [name, readFileSync(join(logs, name), 'utf8')] as const);
      return new Map([['the launcher', withoutSummary(printed)], ...files]);
    },
    /** Sends SIGTERM; resolves with the exit code. */
    end,
    /** Stops the stack and removes its state directory. */
    stop,
  };
}

export type LaunchedStack = Awaited<ReturnType<typeof launchStack>>;

/** Removes the summary, which shows the public secrets of the development clients on purpose. */
function withoutSummary(printed: string): string {
  return printed.replace(/^Get a token, then use it:[\s\S]*?\n\n/m, '').replace(/^Clients \(id[\s\S]*?\n\n/m, '');
}
