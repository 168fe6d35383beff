// The ops CLI: `npm run -s router -- <verb>`.

import { run } from './run.ts';

// `service-router … | head`: what nobody reads any more is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

// The exit code is set, never forced: stdout is always written whole.
process.exitCode = await run(process.argv.slice(2), process);
