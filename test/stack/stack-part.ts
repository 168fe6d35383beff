// The processes of a stack, which the next stack can reuse.

import { isDeepStrictEqual } from 'node:util';
import { killProgramsExcept, type Program, startProgram } from './program.ts';

/** A process, and the settings with which it was started. */
export interface Part {
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  readonly program: Program;
}

/**
 * Processes that stacks of this vitest worker have left running. The next shared stack reuses them; those that would
 * take tasks are stopped before a separate stack starts.
 */
const idle: Part[] = [];

/** Leaves the processes of a stack running for the next stack. */
export function leaveIdle(parts: readonly Part[]): void {
  idle.push(...parts.filter(({ program }) => program.isAlive()));
}

/**
 * Returns an idle process of this entry with the same variables, or starts one. The process then belongs to the caller.
 */
export async function provide(entry: string, env: Record<string, string>): Promise<Part> {
  return takeIdle(entry, env) ?? { entry, env, program: await startProgram(entry, env) };
}

/**
 * Like {@link provide}, but first ends every other idle process of this entry, which would use the same port or take
 * the same tasks.
 */
export async function provideOnly(entry: string, envs: readonly Record<string, string>[]): Promise<Part[]> {
  const kept = envs.map((env) => takeIdle(entry, env));
  await stopIdle(entry);
  return Promise.all(envs.map(async (env, index) => kept[index] ?? provide(entry, env)));
}

/** Ends the idle processes of these entries. */
export async function stopIdle(...entries: readonly string[]): Promise<void> {
  const stopped = idle.filter(({ entry }) => entries.includes(entry));
  for (const part of stopped) idle.splice(idle.indexOf(part), 1);
  await Promise.all(stopped.map(stopPart));
}

/** Kills the processes that a test file has left running, except idle ones that the next file can use. */
export async function killLeftovers(): Promise<void> {
  await killProgramsExcept(idle.map(({ program }) => program));
}

export async function stopPart({ program }: Part): Promise<void> {
  await program.stop();
}

function takeIdle(entry: string, env: Record<string, string>): Part | undefined {
  const at = idle.findIndex(
    (part) => part.entry === entry && part.program.isAlive() && isDeepStrictEqual(part.env, env),
  );
  const [found] = at === -1 ? [] : idle.splice(at, 1);
  found?.program.forgetOutput();
  return found;
}
