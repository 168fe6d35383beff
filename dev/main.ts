// Entry point of `npm start`: runs the whole stack on this machine until Ctrl-C.

import { runStack } from './stack/run-stack.ts';

process.exit(await runStack(process.argv.slice(2), process.env));
