// The ops CLI: `npm run -s router -- <verb>`.

import { createProgram } from './program.ts';

// `router … | head`: what nobody reads any more is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

await createProgram().parseAsync();
