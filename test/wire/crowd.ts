// A program: thousands of clients that hold connections, in a process of their own, so that what others measure is the router and not this.

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
