// One run of `npm start`, from its flags to its exit code.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeRunningStack } from '../../config/running-stack.ts';
import { tryLock } from '../setup/lock.mjs';
import { createProgress, type Progress } from '../setup/progress.mjs';
import { addressesOf } from './addresses.ts';
import { help, parseFlags, readSettings } from './options.ts';
import { findTakenPorts } from './ports.ts';
import { type Missing, untilReady } from './readiness.ts';
import { Stack } from './stack.ts';
import { summary } from './summary.ts';

/** A start that takes longer than this, in milliseconds, is not a usual one. */
const explainAfterMs = 45_000;

/**
 * Runs the stack until a signal or a failure ends it.
 * @returns the exit code: 0 stopped as asked, 1 could not start or could not stay up
 */
export async function runStack(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const progress = createProgress();
  const say = (line: string) => {
    progress.clear();
    process.stdout.write(`${line}\n`);
  };
  let unlock = () => {};
  let removeAddresses = () => {};
  try {
    const flags = parseFlags(args);
    if (flags.help) return (process.stdout.write(help), 0);
    const settings = await readSettings(env);
    unlock = lockStateDir(settings.stateDir);
    const taken = await findTakenPorts(settings.ports);
    if (taken.length > 0) throw new Error(taken.join('\n'));
    removeAddresses = writeRunningStack(settings.stateDir, addressesOf(settings));
    const stack = new Stack({ settings, verbose: flags.verbose, say });
    await live({ stack, startedAt, progress, say, urls: settings.urls });
    return 0;
  } catch (error) {
    progress.clear();
    process.stderr.write(`${(error as Error).message}\n`);
    return 1;
  } finally {
    removeAddresses();
    unlock();
  }
}

interface Life {
  readonly stack: Stack;
  readonly startedAt: number;
  readonly progress: Progress;
  readonly say: (line: string) => void;
  readonly urls: Parameters<typeof summary>[0]['urls'];
}

/** Starts, waits for a signal, stops. @throws Error for people, after everything has been stopped */
async function live({ stack, startedAt, progress, say, urls }: Life): Promise<void> {
  const ending = new AbortController();
  const asked = untilAsked(stack, ending, say);
  const elapsedMs = () => performance.now() - startedAt;
  const run = async () => {
    await stack.prepare(ending.signal);
    const onWait = showMissing(progress, say, elapsedMs);
    const ready = untilReady({ operations: urls.operations, signal: ending.signal, onWait });
    ready.catch(() => {});
    await Promise.race([stack.start(), stack.failed]);
    await Promise.race([ready, stack.failed]);
    say(summary({ urls, engineKind: stack.engineKind, logFiles: stack.logFiles, elapsedMs: elapsedMs() }));
    await stack.failed;
  };
  try {
    await Promise.race([run(), asked]);
  } catch (error) {
    // What was cut short by the wish to stop is no failure.
    if (!ending.signal.aborted) throw error;
  } finally {
    ending.abort();
    progress.clear();
    await stack.stop();
  }
}

/** A moving line that names what is missing; what is missing for long is explained, once. */
function showMissing(progress: Progress, say: (line: string) => void, elapsedMs: () => number) {
  const startedMs = elapsedMs();
  let isExplained = false;
  return (missing: Missing) => {
    const names = Object.keys(missing).join(', ');
    progress.show(`  ${(elapsedMs() / 1000).toFixed(0)} s: waiting for ${names}`);
    if (isExplained || elapsedMs() - startedMs < explainAfterMs) return;
    isExplained = true;
    const lines = Object.entries(missing).map(([name, reasons]) => `\n  ${name}: ${reasons.join('; ')}`);
    say(`Not ready yet:${lines.join('')}`);
  };
}

/** Resolves at the first signal; a second one ends everything at once. */
function untilAsked(stack: Stack, ending: AbortController, say: (line: string) => void): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      if (ending.signal.aborted) {
        stack.kill();
        process.exit(1);
      }
      ending.abort();
      say('Stopping (once more stops at once).');
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
}

/** Two stacks on one set of databases would spoil them. @throws Error for people, when another one runs there */
function lockStateDir(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true });
  const { release, owner } = tryLock(join(stateDir, 'stack.lock'));
  if (release) return release;
  throw new Error(`Another stack (process ${owner}) runs on ${stateDir}: stop it, or set STATE_DIR to another folder.`);
}
