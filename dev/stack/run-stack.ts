// Runs `npm start`: reads flags, starts the stack, waits for a signal, stops the stack.

import { writeRunningStack } from '#lib/config/running-stack.ts';
import { stopRequestHandler } from '#lib/process/stop-requests.ts';
import { findTakenPorts } from '../setup/ports.mjs';
import { createProgress, type Progress } from '../setup/progress.mjs';
import { addressesOf } from './addresses.ts';
import { checkGateway } from './check-gateway.ts';
import { checkIdentityProvider } from './check-identity-provider.ts';
import { help, parseFlags, readSettings, type StackSettings } from './options.ts';
import { type Missing, waitUntilReady } from './readiness.ts';
import { Stack } from './stack.ts';
import { openStateDir } from './state-dir.ts';
import { summary } from './summary.ts';

/**
 * Runs the stack until a signal or a failure.
 * @returns the exit code: 0 after a signal, 1 when the stack could not start or a program kept crashing
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
    const settings = await readSettings(env, flags);
    unlock = openStateDir(settings.stateDir);
    const taken = await findTakenPorts(settings.ports);
    if (taken.length > 0) throw new Error(taken.join('\n'));
    await checkGateway(settings.env);
    if (settings.givenIssuer !== undefined) await checkIdentityProvider(settings.env);
    removeAddresses = writeRunningStack(settings.stateDir, addressesOf(settings));
    const stack = new Stack({ settings, verbose: flags.verbose, say });
    await runUntilStopped({ stack, startedAt, progress, say, settings });
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

interface StackRun {
  readonly stack: Stack;
  readonly startedAt: number;
  readonly progress: Progress;
  readonly say: (line: string) => void;
  readonly settings: StackSettings;
}

/**
 * Starts the stack, waits for a signal and stops the stack.
 * @throws Error when the stack fails; the stack is stopped first
 */
async function runUntilStopped({ stack, startedAt, progress, say, settings }: StackRun): Promise<void> {
  const ending = new AbortController();
  const stopRequested = untilSignal(stack, ending, say);
  const run = async () => {
    await stack.prepare(ending.signal);
    // The summary is shown before the stack is ready, because workers that run elsewhere need the address and a client.
    say(summary(settings, stack.engineKind));
    const onWait = (missing: Missing) => progress.show(`  waiting for ${describeMissing(missing)}`);
    const ready = waitUntilReady({ operations: settings.urls.operations, signal: ending.signal, onWait });
    ready.catch(() => {});
    await Promise.race([stack.start(), stack.failed]);
    await Promise.race([ready, stack.failed]);
    say(`Ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s. Ctrl-C stops everything.`);
    await stack.failed;
  };
  try {
    await Promise.race([run(), stopRequested]);
  } catch (error) {
    // Errors that the stop itself causes are not failures.
    if (!ending.signal.aborted) throw error;
  } finally {
    ending.abort();
    progress.clear();
    await stack.stop();
  }
}

/** Returns text such as `workers (no worker polls movies_intake)`. */
function describeMissing(missing: Missing): string {
  return Object.entries(missing)
    .map(([name, reasons]) => `${name} (${reasons.join('; ')})`)
    .join(', ');
}

/**
 * Resolves at the first signal. A second signal, or the first signal while the stack stops after a failure, kills every
 * program and ends this process.
 */
function untilSignal(stack: Stack, ending: AbortController, say: (line: string) => void): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stack.kill();
      process.exit(1);
    };
    const stop = () => {
      if (ending.signal.aborted) return end();
      ending.abort();
      say('Stopping. Press Ctrl-C again to stop immediately.');
      resolve();
    };
    const request = stopRequestHandler({ stop, end });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, request);
  });
}
