// Starts and controls the sender, a process that generates load and has priority on its core.

import { setNiceness } from '../../dev/stack/niceness.ts';
import type { LoadFigures } from '../measure/load-figures.ts';
import type { Run } from '../run.ts';
import { startProgram } from './program.ts';
import type { Plan } from './sender.ts';

export interface Sender {
  readonly pid: number;
  /** Sends a load; only one may run at a time. */
  send(plan: Plan): Promise<LoadFigures>;
}

/** Starts the sender and stops it when the run ends. @param name name of the sender's log */
export async function startSender(run: Run, name: string): Promise<Sender> {
  const entry = 'bench/programs/sender.ts';
  const sender = await startProgram({ name: `sender-${name}`, entry, env: {}, stateDir: run.stateDir });
  run.onEnd(() => sender.stop());
  if (!comesFirst(sender.pid))
    run.say('The load generator runs at normal priority: start the bench as root to raise it.');
  return {
    pid: sender.pid,
    send: async (plan) => ((await sender.ask(plan)) as { figures: LoadFigures }).figures,
  };
}

/**
 * Raises the priority of the sender, so that its delays are not counted as delays of the router. Returns false when
 * this process may not raise the priority.
 */
function comesFirst(pid: number): boolean {
  try {
    setNiceness(pid, -10);
    return true;
  } catch {
    return false;
  }
}
