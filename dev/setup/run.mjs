// node dev/setup/run.mjs <entry.ts> [arguments…]: what `npm start`, `npm test` and the CLI begin with. Runs on any Node from 20 on with nothing installed.

import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { findNode } from './find-node.mjs';
import { runEntry } from './run-entry.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Exit code of a set-up that failed. */
const failed = 1;

try {
  const [entry, ...args] = process.argv.slice(2);
  if (entry === undefined) throw new Error('Usage: node dev/setup/run.mjs <entry.ts> [arguments…]');
  await ensureDependencies(root);
  runEntry({ node: findNode(root), root, entry, args });
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = failed;
}
