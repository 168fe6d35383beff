// A program with thousands of clients that hold connections open. It is a separate process, so that it does not slow
// the tests down.

import { runProgram } from '#lib/process/run-program.ts';
import { attackTogether } from './slow-clients.ts';

const { CROWD_URL = '', CROWD_TOKEN = '', CROWD_SIZE = '1' } = process.env;

await runProgram('crowd', async () => {
  const crowd = attackTogether(CROWD_URL, Number(CROWD_SIZE), CROWD_TOKEN);
  return {
    ready: { size: crowd.length },
    async stop() {
      for (const attacker of crowd) attacker.stop();
    },
  };
});
