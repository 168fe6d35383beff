// node dev/setup/run.mjs <entry.ts> [arguments…]: installs dependencies if needed, then runs an entry file with the
// pinned Node. Used by `npm start`, `npm test` and the CLI. Needs Node 20 or newer and no installed packages.

import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { findNode } from './find-node.mjs';
import { findTakenPorts, knownPorts } from './ports.mjs';
import { runEntry } from './run-entry.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Exit code of a failed set-up. */
const failed = 1;

try {
  const [entry, ...args] = process.argv.slice(2);
  if (entry === undefined) throw new Error('Usage: node dev/setup/run.mjs <entry.ts> [arguments…]');
  const startsStack = entry === 'dev/main.ts' && !args.includes('--help');
  await ensureDependencies(root, startsStack ? refuseTakenPorts : undefined);
  runEntry({ node: findNode(root), root, entry, args });
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = failed;
}

/** Reports taken ports before a long installation. @throws Error with a line for each taken port */
async function refuseTakenPorts() {
  const taken = await findTakenPorts(knownPorts(root, process.env));
  if (taken.length > 0) throw new Error(taken.join('\n'));
}
