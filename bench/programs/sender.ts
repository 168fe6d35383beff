// Generates load in a separate process so that the sender can have its own core. Receives plans and returns figures.

import { loadFiguresOf } from '../measure/load-figures.ts';
import { type LoadOptions, runLoad } from '../measure/open-loop.ts';
import { runProgram } from '#lib/process/run-program.ts';

/** A load as it is passed to the sender's process: with the requests as text. */
export interface Plan extends Omit<LoadOptions, 'requests'> {
  readonly requests: readonly { readonly name: string; readonly text: string }[];
}

await runProgram('sender', async () => {
  process.on('message', (plan: Plan) => {
    const requests = plan.requests.map(({ name, text }) => ({ name, bytes: Buffer.from(text) }));
    void runLoad({ ...plan, requests }).then((sample) => process.send?.({ figures: loadFiguresOf(sample) }));
  });
  return { ready: {}, stop: async () => undefined };
});
