// Entry point of the back-end stand-ins.

import { loadConfig } from '#lib/config/load.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { startBackEnds } from './start-back-ends.ts';

await runProgram('back-ends', async (log) => {
  const { config } = await loadConfig();
  const backEnds = await startBackEnds({
    port: config['backends.port'],
    host: config['backends.host'],
    stateDir: config['state.dir'],
    // For tests that check the history of a run.
    historyFile: process.env['BACKENDS_HISTORY_FILE'],
    log,
  });
  return { ready: { url: backEnds.url }, stop: () => backEnds.stop() };
});
