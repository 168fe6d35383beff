// The programs of the stack besides the engine: what is run, with which environment, and in which order they end.

import type { Writable } from 'node:stream';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, type ChildOptions, startChild } from './child.ts';
import type { StackSettings } from './options.ts';

/** One of our programs: an entry file run by the Node that runs this. */
export interface Program {
  /** Its name in messages and of its log file. */
  readonly name: string;
  /** Entry file, relative to the root. */
  readonly entry: string;
  readonly args?: readonly string[];
  /** Set besides the environment all programs share. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A program that is kept running. */
export interface LongRunningProgram extends Program {
  /** When it ends: those of the lowest number first, and those of the same number together. */
  readonly stopOrder: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** MIS code of the college whose adaptor has workers of its own beside it. */
const coLocated = '002';

/** Workers end first, so that they can still report what they have in hand through the router. The pruner needs only the engine. */
export const longRunningPrograms: readonly LongRunningProgram[] = [
  { name: 'router', entry: 'gateway/main.ts', stopOrder: 2 },
  { name: 'workers', entry: 'workers/main.ts', stopOrder: 1 },
  { name: `workers-${coLocated}`, entry: 'workers/main.ts', env: { WORKERS_DOMAIN: coLocated }, stopOrder: 1 },
  { name: 'pruner', entry: 'jobs/prune/main.ts', stopOrder: 1 },
  { name: 'identity-provider', entry: 'dev/identity-provider/main.ts', stopOrder: 3 },
  { name: 'back-ends', entry: 'dev/back-ends/main.ts', stopOrder: 3 },
];

/** The programs of a stack with these settings: none for what runs already. */
export function programsOf({ givenIssuer }: Pick<StackSettings, 'givenIssuer'>): readonly LongRunningProgram[] {
  return longRunningPrograms.filter(({ name }) => givenIssuer === undefined || name !== 'identity-provider');
}

/** The engine ends last: everything else may still talk to it. */
export const engineStopOrder = 4;

export interface LaunchOptions {
  /** The environment all programs share. */
  readonly env: NodeJS.ProcessEnv;
  readonly output: Writable;
}

/** Registers the definitions with an engine and ends. */
export function registrationProgram(engineUrl: string): Program {
  return { name: 'definitions', entry: 'cli/main.ts', args: ['register', '--engine', engineUrl] };
}

/** Starts one life of a program that is kept running. */
export function launchProgram(program: Program, options: LaunchOptions): Child {
  return startChild(childOptions(program, options));
}

/** Runs a program to its end. */
export function runProgramOnce(program: Program, options: LaunchOptions): Child {
  return startChild({ ...childOptions(program, options), waitUntilReady: async () => ({}) });
}

function childOptions({ entry, args = [], env: own }: Program, { env, output }: LaunchOptions): ChildOptions {
  return {
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(root, entry), ...args],
    env: { ...env, ...own },
    cwd: root,
    output,
  };
}
