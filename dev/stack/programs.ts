// Defines the programs of the stack except the engine: entry files, environments and stop order.

import type { Writable } from 'node:stream';
import { join } from 'node:path';
import { gatewayDir, moduleExtension, productDir } from '#lib/config/folders.ts';
import { nodeArguments, nodeEnvironment } from '#lib/process/launch-settings.ts';
import { type Child, type ChildOptions, startChild } from './child.ts';
import type { StackDomain } from './domains.ts';
import type { StackSettings } from './options.ts';

/** A program: an entry file that is run by the current Node. */
export interface Program {
  /** Name in messages and of the log file. */
  readonly name: string;
  /** Entry file of the product, as it is named in a checkout: `gateway/main.ts`. */
  readonly entry: string;
  readonly args?: readonly string[];
  /** Variables in addition to the shared environment. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A program that is restarted when it ends. */
export interface LongRunningProgram extends Program {
  /** Position in the stop order: lower numbers stop first, equal numbers together. */
  readonly stopOrder: number;
}

/**
 * Returns the programs that a stack with these settings starts. Workers stop first, so that they can still report their
 * in-flight tasks through the router.
 */
export function programsOf({
  givenIssuer,
  usesStandIns,
  domains,
}: Pick<StackSettings, 'givenIssuer' | 'usesStandIns' | 'domains'>): readonly LongRunningProgram[] {
  return [
    { name: 'router', entry: 'gateway/main.ts', stopOrder: 2 },
    { name: 'workers', entry: 'workers/main.ts', stopOrder: 1 },
    ...domains.map((domain) => coLocatedWorkers(domain)),
    { name: 'pruner', entry: 'jobs/prune/main.ts', stopOrder: 1 },
    ...(givenIssuer === undefined ? [identityProvider] : []),
    ...(usesStandIns ? [backEnds] : []),
  ];
}

const identityProvider: LongRunningProgram = {
  name: 'identity-provider',
  entry: 'dev/identity-provider/main.ts',
  stopOrder: 3,
};
const backEnds: LongRunningProgram = { name: 'back-ends', entry: 'dev/back-ends/main.ts', stopOrder: 3 };

/**
 * Returns the workers that run beside the adaptors of a task domain. The stack's own `WORKERS_TASKTYPES` applies only
 * to workers without a domain.
 */
function coLocatedWorkers({ name, taskTypes }: StackDomain): LongRunningProgram {
  const env = { WORKERS_DOMAIN: name, WORKERS_TASKTYPES: taskTypes.join() };
  return { name: `workers-${name}`, entry: 'workers/main.ts', env, stopOrder: 1 };
}

/** The engine stops after all programs that may call it. */
export const engineStopOrder = 4;

/** The engine's Redis server stops after the engine. */
export const redisStopOrder = 5;

/** Environment and output of a program. */
export interface LaunchOptions {
  /** The environment that all programs share. */
  readonly env: NodeJS.ProcessEnv;
  readonly output: Writable;
}

/** Returns the program that registers the definitions with an engine and ends. */
export function registrationProgram(engineUrl: string): Program {
  return { name: 'definitions', entry: 'cli/main.ts', args: ['register', '--engine', engineUrl] };
}

/** Starts a long-running program once. */
export function launchProgram(program: Program, options: LaunchOptions): Child {
  return startChild(childOptions(program, options));
}

/** Starts a program that runs to completion. */
export function runProgramOnce(program: Program, options: LaunchOptions): Child {
  return startChild({ ...childOptions(program, options), waitUntilReady: async () => ({}) });
}

function childOptions({ entry, args = [], env: own }: Program, { env, output }: LaunchOptions): ChildOptions {
  return {
    command: process.execPath,
    args: [...nodeArguments, join(productDir, entry.replace(/\.ts$/, moduleExtension)), ...args],
    env: { ...nodeEnvironment, ...env, ...own },
    cwd: gatewayDir(),
    output,
  };
}
