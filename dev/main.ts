// Entry point of `npm start`: runs the whole stack on this machine until Ctrl-C.

import { ignoreClosedOutput } from '#lib/process/closed-output.ts';
import { runStack } from './stack/run-stack.ts';

// When its terminal or pipe closes, the stack still shuts down cleanly: Ctrl-C in `npm start | tee log` ends `tee` too.
ignoreClosedOutput();

process.exit(await runStack(process.argv.slice(2), process.env));
