// Entry of the back-end stand-ins' process.

import { loadConfig } from '#lib/config/load.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { startBackEnds } from './start-back-ends.ts';

await runProgram('back-ends', async (log) => {
  const { config } = await loadConfig();
  const backEnds = await startBackEnds({
    port: config['backends.port'],
    host: config['backends.host'],
    stateDir: config['state.dir'],
    // For suites that judge a run by what happened in it.
    historyFile: process.env['BACKENDS_HISTORY_FILE'],
    log,
  });
  return { ready: { url: backEnds.url }, stop: () => backEnds.stop() };
});
