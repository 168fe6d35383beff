// Entry point of the operations CLI: `npm run -s router -- <command>`.

import { run } from './run.ts';

// A closed pipe, as in `service-router … | head`, is not an error, and must not end a command half-way.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

// Setting exitCode instead of calling exit() lets stdout drain.
process.exitCode = await run(process.argv.slice(2), process);
