// node dev/setup/run.mjs <entry.ts> [arguments…]: what `npm start`, `npm test` and the CLI begin with. Runs on any Node from 20 on with nothing installed.

import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { findNode } from './find-node.mjs';
import { findTakenPorts, knownPorts } from './ports.mjs';
import { runEntry } from './run-entry.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Exit code of a set-up that failed. */
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

/** A port that is taken should not be found out only after a long installation. @throws Error for people */
async function refuseTakenPorts() {
  const taken = await findTakenPorts(knownPorts(root, process.env));
  if (taken.length > 0) throw new Error(taken.join('\n'));
}
