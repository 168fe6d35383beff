// Entry point of `npm start`: runs the whole stack on this machine until Ctrl-C.

import { ignoreClosedOutput } from '#lib/process/closed-output.ts';
import { runStack } from './stack/run-stack.ts';

// A stack whose terminal or pipe is gone stops in order: Ctrl-C ends `npm start | tee log` twice.
ignoreClosedOutput();

process.exit(await runStack(process.argv.slice(2), process.env));
