// The environment in which every bench runs: a state folder, a progress line, and a complete clean-up at the end.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgress } from '../dev/setup/progress.mjs';

export interface Run {
  /** Databases and logs; removed at the end. */
  readonly stateDir: string;
  /** Prints the current step. */
  step(line: string): void;
  /** Prints text that stays on the terminal. */
  say(text: string): void;
  /** Registers a function that is called at the end; the functions are called in reverse order of registration. */
  onEnd(stop: () => unknown): void;
}

/** Stops resources in reverse order of registration. If one cannot be stopped, the others are stopped all the same. */
export class Stops {
  readonly #stops: (() => unknown)[] = [];

  add(stop: () => unknown): void {
    this.#stops.unshift(stop);
  }

  /** Stops each resource once, however often the method is called. */
  async stopAll(): Promise<void> {
    for (let stop = this.#stops.shift(); stop !== undefined; stop = this.#stops.shift()) {
      try {
        await stop();
      } catch {
        // The other resources are still stopped.
      }
    }
  }
}

/**
 * Runs a bench until it is done or a signal ends it.
 * @returns the exit code
 */
export async function runBench(act: (run: Run) => Promise<void>): Promise<number> {
  const progress = createProgress();
  const stops = new Stops();
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-bench-'));
  const print = (stream: NodeJS.WriteStream, text: string) => {
    progress.clear();
    stream.write(`${text}\n`);
  };
  const run: Run = {
    stateDir,
    step: (line) => progress.show(line),
    say: (text) => print(process.stdout, text),
    onEnd: (stop) => stops.add(stop),
  };
  try {
    await Promise.race([act(run), untilSignal()]);
    return 0;
  } catch (error) {
    print(process.stderr, (error as Error).message);
    return 1;
  } finally {
    await stops.stopAll();
    rmSync(stateDir, { recursive: true, force: true });
    progress.clear();
  }
}

/** Rejects at the first signal. A second signal of the same kind ends the process and its programs. */
function untilSignal(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => reject(new Error(`${signal}: stopping`)));
    }
  });
}
