// Starts the bench's back end as a separate process.

import type { Run } from '../run.ts';
import { startProgram } from './program.ts';

export interface BackEnd {
  readonly url: string;
  readonly pid: number;
  /** Returns the number of requests that the back end has served so far. */
  countRequests(): Promise<number>;
}

export async function startBackEnd({ stateDir, onEnd }: Run): Promise<BackEnd> {
  const program = await startProgram({ name: 'back-end', entry: 'bench/programs/back-end.ts', env: {}, stateDir });
  onEnd(() => program.stop());
  const countRequests = async () => ((await program.ask({})) as { requests: number }).requests;
  return { url: String(program.ready['url']), pid: program.pid, countRequests };
}
