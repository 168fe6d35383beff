// The processes of a stack, each of which the next stack may use as it is.

import { type Program, startProgram } from './program.ts';

export interface Part {
  /** The variables that it was started with. */
  readonly env: Readonly<Record<string, string>>;
  readonly program: Program;
}

/** The processes of a stack, with the variables that each was started with. */
export interface StackParts {
  readonly stateDir: string;
  readonly ports: RouterPorts;
  readonly identityProvider: Part;
  readonly backEnds: Part;
  readonly router: Part;
  readonly workers: readonly Part[];
}

export interface RouterPorts {
  readonly ROUTER_PORT: string;
  readonly OPS_PORT: string;
}

/** Returns the earlier part when it runs with the same variables; else ends it and starts one. */
export async function provide(entry: string, env: Record<string, string>, earlier?: Part): Promise<Part> {
  if (earlier?.program.isAlive() && hasSameEnv(earlier.env, env)) {
    earlier.program.forgetOutput();
    return earlier;
  }
  if (earlier !== undefined) await stopPart(earlier);
  return { env, program: await startProgram(entry, env) };
}

export async function stopPart({ program }: Part): Promise<void> {
  await program.stop();
}

function hasSameEnv(one: Part['env'], other: Part['env']): boolean {
  const names = Object.keys({ ...one, ...other });
  return names.every((name) => one[name] === other[name]);
}
