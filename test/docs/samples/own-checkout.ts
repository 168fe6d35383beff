// A checkout of the product in a temporary directory, in which samples may write and `npm start` keeps its state.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollUntil } from '../../stack/poll-until.ts';
import { rootDir } from '../pages.ts';

/** Entries that are not copied: those that git ignores, and those that no sample uses. */
const left = ['.git', '.run', '.env', 'bench', 'coverage', 'dist', 'node_modules', 'test'];

export interface RunningStart {
  /** Returns the output so far. */
  printed(): string;
  stop(): Promise<void>;
}

export class OwnCheckout {
  readonly dir = mkdtempSync(join(tmpdir(), 'service-router-samples-'));

  constructor() {
    for (const name of readdirSync(rootDir).filter((entry) => !left.includes(entry)))
      cpSync(join(rootDir, name), join(this.dir, name), { recursive: true });
    symlinkSync(join(rootDir, 'node_modules'), join(this.dir, 'node_modules'));
    this.#git('init');
    writeFileSync(join(this.dir, '.git/info/exclude'), 'node_modules\n');
    this.#git('add', '.');
    this.#git('-c', 'user.name=samples', '-c', 'user.email=samples@example.org', 'commit', '--message', 'samples');
  }

  /** Undoes all changes to files except the state of the stack. */
  reset(): void {
    this.#git('checkout', '.');
    this.#git('clean', '-d', '--force', '-x', '--exclude', '.run', '--exclude', 'node_modules');
  }

  /** Runs `npm start`; resolves when the stack is ready. @throws Error with the output */
  async start(env: NodeJS.ProcessEnv): Promise<RunningStart> {
    const child = spawn('npm', ['start', '--silent'], { cwd: this.dir, env });
    const ended = once(child, 'close');
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const stop = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    const isReady = () => {
      if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`);
      return /^Ready after.*\n/m.test(printed);
    };
    await pollUntil('npm start to be ready', isReady, { timeoutMs: 100_000, everyMs: 50 }).catch(
      async (error: Error) => {
        await stop();
        throw new Error(`${error.message}:\n${printed}`, { cause: error });
      },
    );
    return { printed: () => printed, stop };
  }

  dispose(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  #git(...args: string[]): void {
    // Excludes GIT_DIR, which a git hook sets, and the user's git settings.
    const env = { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', args, { cwd: this.dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
  }
}
