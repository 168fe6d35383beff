// node dev/setup/run.mjs <entry.ts> [arguments…]: installs dependencies if needed, then runs an entry file with the
// pinned Node. Used by `npm start`, `npm test` and the CLI. Needs Node 20 or newer and no installed packages.
// In the package, npm has installed the dependencies already and the entry file is compiled.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { findNode } from './find-node.mjs';
import { findTakenPorts, knownPorts } from './ports.mjs';
import { compileCacheOf, runEntry } from './run-entry.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isCheckout = existsSync(join(root, 'package-lock.json'));

/** Folders of programs that need no development packages, and run in production. */
const productFolders = ['cli', 'gateway', 'jobs', 'workers'];

/** Exit code of a failed set-up. */
const failed = 1;

try {
  const [entry, ...args] = process.argv.slice(2);
  if (entry === undefined) throw new Error('Usage: node dev/setup/run.mjs <entry.ts> [arguments…]');
  const startsStack = entry === 'dev/main.ts' && !args.includes('--help');
  // The command `start` runs the programs of dev/.
  const isProduct = productFolders.includes(entry.split('/')[0]) && !(entry === 'cli/main.ts' && args[0] === 'start');
  const beforeInstall = startsStack ? refuseTakenPorts : undefined;
  if (isCheckout) await ensureDependencies(root, { isProduct, beforeInstall });
  const compileCache = isCheckout ? compileCacheOf(root) : undefined;
  runEntry({
    node: findNode(root),
    root,
    entry: isCheckout ? entry : entry.replace(/\.ts$/, '.js'),
    args,
    compileCache,
  });
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = failed;
}

/** Reports taken ports before a long installation. @throws Error with a line for each taken port */
async function refuseTakenPorts() {
  const taken = await findTakenPorts(knownPorts(root, process.env));
  if (taken.length > 0) throw new Error(taken.join('\n'));
}
