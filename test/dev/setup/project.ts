// A temporary project with a copy of dev/setup, a lock file, a fake npm that creates node_modules, and an entry file.

import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const setup = fileURLToPath(new URL('../../../dev/setup', import.meta.url));

/** A started `run.mjs` and what it has printed so far. */
export interface Run {
  readonly process: ChildProcess;
  readonly printed: { text: string };
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export class Project {
  readonly root: string;
  readonly #runs: Run[] = [];

  /** @param prefix beginning of the name of the project's folder */
  constructor(prefix = 'run-') {
    this.root = mkdtempSync(join(tmpdir(), prefix));
    cpSync(setup, join(this.root, 'dev/setup'), { recursive: true });
    mkdirSync(join(this.root, 'bin'));
    this.lock({ leftpad: '1.0.0' });
    this.npm('');
    this.entry(`console.log('ran', process.argv.slice(2).join(' '));`);
  }

  /**
   * Writes package-lock.json with these packages and versions, and with a package that is only for another platform.
   */
  lock(packages: Record<string, string>): void {
    const entries = Object.entries(packages).map(([name, version]) => [`node_modules/${name}`, { version }]);
    const other = { 'node_modules/elsewhere': { version: '1.0.0', optional: true } };
    const content = { lockfileVersion: 3, packages: { '': {}, ...Object.fromEntries(entries), ...other } };
    writeFileSync(join(this.root, 'package-lock.json'), JSON.stringify(content));
  }

  /** Installs a fake npm that records its run, runs a script, and then changes node_modules as npm does. */
  npm(script: string): void {
    const path = join(this.root, 'bin/npm');
    const content = `#!/bin/sh
echo "$@" >> "${this.root}/npm-runs"
${script}
mkdir -p "${this.root}/node_modules"
cp "${this.root}/package-lock.json" "${this.root}/node_modules/.package-lock.json"
`;
    writeFileSync(path, content);
    chmodSync(path, 0o755);
  }

  /** Puts node_modules into the state that the fake npm leaves. */
  install(): void {
    mkdirSync(join(this.root, 'node_modules'));
    cpSync(join(this.root, 'package-lock.json'), join(this.root, 'node_modules/.package-lock.json'));
  }

  /** Writes the entry file. */
  entry(code: string): void {
    writeFileSync(join(this.root, 'entry.mjs'), code);
  }

  /** Returns the arguments of each run of npm. */
  npmRuns(): string[] {
    const file = join(this.root, 'npm-runs');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }

  /** Starts `run.mjs entry.mjs …`. */
  run(...args: string[]): Run {
    return this.#run(['entry.mjs', ...args], {});
  }

  /** Starts `run.mjs cli/main.ts`, as `npm run router` does, with a copy of the entry file at that path. */
  cli(): Run {
    mkdirSync(join(this.root, 'cli'), { recursive: true });
    cpSync(join(this.root, 'entry.mjs'), join(this.root, 'cli/main.ts'));
    return this.#run(['cli/main.ts'], {});
  }

  /** Starts `run.mjs dev/main.ts …`, as npm start does, with a copy of the entry file at that path. */
  start(env: Record<string, string>, ...args: string[]): Run {
    mkdirSync(join(this.root, 'config'), { recursive: true });
    writeFileSync(join(this.root, 'config/default.properties'), '# movies.url=x\n');
    cpSync(join(this.root, 'entry.mjs'), join(this.root, 'dev/main.ts'));
    return this.#run(['dev/main.ts', ...args], env);
  }

  #run(args: string[], env: Record<string, string>): Run {
    const run = join(this.root, 'dev/setup/run.mjs');
    const child = spawn(process.execPath, [run, ...args], {
      cwd: this.root,
      // Node would pass on the tests' NODE_V8_COVERAGE unless it is set here.
      env: { PATH: `${join(this.root, 'bin')}:/usr/bin:/bin`, NODE_V8_COVERAGE: undefined, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = { text: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (printed.text += chunk.toString('utf8')));
    }
    const ended = once(child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
    const started = { process: child, printed, ended };
    this.#runs.push(started);
    return started;
  }

  /** Ends processes that still run, and removes the project. */
  async remove(): Promise<void> {
    for (const { process, ended } of this.#runs) {
      process.kill('SIGKILL');
      await ended;
    }
    rmSync(this.root, { recursive: true, force: true });
  }
}
