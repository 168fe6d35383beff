// Entry point of the operations CLI: `npm run -s router -- <command>`.

import { ignoreClosedOutput } from '#lib/process/closed-output.ts';
import { run } from './run.ts';

ignoreClosedOutput();

// Setting exitCode instead of calling exit() lets stdout drain.
process.exitCode = await run(process.argv.slice(2), process);
