// A target that reaches the back end in one hop through stock Express Gateway: the cost of a gateway without workflows.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { rootDir, type RunningProgram, startProgram } from '../programs/program.ts';
import { moviePath } from '../programs/stack.ts';
import type { Run } from '../run.ts';
import { HttpClient } from './http-client.ts';
import type { Target } from './target.ts';

const folder = join(rootDir, 'bench/proxy');

/**
 * Ensures that stock Express Gateway is installed in a separate folder. The product's own copy is not stock: stubs
 * replace packages that the product does not use.
 * @param install true to install it when it is missing (about 720 packages)
 * @returns false, after printing a line, when it is not installed
 * @throws Error when npm fails
 */
export function ensureProxy({ say, step }: Pick<Run, 'say' | 'step'>, install: boolean): boolean {
  if (existsSync(join(folder, 'node_modules/express-gateway'))) return true;
  if (!install) {
    say('proxy: SKIPPED, stock Express Gateway is not installed; --proxy installs it in bench/proxy/.');
    return false;
  }
  step('installing stock Express Gateway in bench/proxy/');
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ci in bench/proxy failed: ${error?.message ?? stderr}`);
  return true;
}

export interface ProxyOptions {
  readonly backEndUrl: string;
  readonly stateDir: string;
  /** Number of connections, at least the number of requests in flight. */
  readonly connections: number;
}

export function createProxy({ backEndUrl, stateDir, connections }: ProxyOptions): Target {
  let program: RunningProgram | undefined;
  let client: HttpClient | undefined;
  return {
    name: 'proxy',
    text: 'one hop of stock Express Gateway',
    usesEngine: false,
    async start() {
      const env = { BENCH_BACK_END: backEndUrl };
      program = await startProgram({ name: 'proxy', entry: 'bench/proxy/main.mjs', env, stateDir });
      client = new HttpClient(String(program.ready['url']), connections);
    },
    pid: () => program?.pid,
    async request() {
      await client?.text({ path: moviePath });
    },
    async stop() {
      await client?.close();
      await program?.stop();
    },
  };
}
