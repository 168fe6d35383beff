// Installs the dependencies with `npm ci` when node_modules does not match package-lock.json.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNodeNewEnough } from './find-node.mjs';
import { acquireLock } from './lock.mjs';
import { createProgress } from './progress.mjs';
import { watchChild } from './watch-child.mjs';

/** Measured size of node_modules. */
const diskGigabytes = 0.5;

/**
 * Installs the dependencies unless they are up to date. The check takes a few milliseconds.
 * @param {string} root folder of package.json
 * @param {object} [options]
 * @param {boolean} [options.isProduct] whether the program runs without development packages. If so, a production
 *   installation, which lacks these packages and the pinned Node, is sufficient, and is not replaced while routers run
 *   from it
 * @param {() => Promise<void>} [options.beforeInstall] called before an installation; an error prevents it
 * @throws Error with npm's output when the installation fails
 */
export async function ensureDependencies(root, { isProduct = false, beforeInstall } = {}) {
  if (isInStep(root, isProduct)) return;
  await beforeInstall?.();
  mkdirSync(join(root, '.run'), { recursive: true, mode: 0o700 });
  const release = await acquireLock(join(root, '.run', 'install.lock'), {
    onWait: (pid) => process.stderr.write(`Another process (${pid}) is installing dependencies; waiting for it.\n`),
  });
  try {
    if (!isInStep(root, isProduct)) await install(root);
  } finally {
    release();
  }
}

/** Returns true when package-lock.json matches the lock file of installed packages that npm keeps in node_modules. */
function isInStep(root, isProduct) {
  const hidden = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(hidden)) return false;
  const installed = readPackages(hidden);
  const pinnedNode = `node_modules/node-${process.platform}-${process.arch}`;
  const needsPinnedNode = !isProduct || !isNodeNewEnough;
  return Object.entries(readPackages(join(root, 'package-lock.json'))).every(([path, locked]) => {
    if (path === '') return true;
    const found = installed[path];
    // Optional packages may be for another platform.
    if (found === undefined && path === pinnedNode) return !needsPinnedNode;
    if (found === undefined) return locked.optional === true || (isProduct && locked.dev === true);
    return found.version === locked.version && found.integrity === locked.integrity;
  });
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch (error) {
    throw new Error(`${file} cannot be read: ${error.message}`, { cause: error });
  }
}

async function install(root) {
  const locked = Object.entries(readPackages(join(root, 'package-lock.json')));
  const total = locked.filter(([path, { optional }]) => path !== '' && !optional).length;
  const size = `${total} packages, about ${diskGigabytes} GB on disk`;
  process.stderr.write(`Installing dependencies (${size}, once for each version of package-lock.json).\n`);
  const progress = createProgress();
  let fetched = 0;
  let rest = '';
  const said = [];
  const onText = (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (/^npm http /.test(line)) fetched++;
      else if (line.trim() !== '') said.push(line);
    }
  };
  const timer = setInterval(() => progress.show(`  ${Math.min(fetched, total)} of ${total} packages`), 200);
  const code = await runNpm(root, onText).finally(() => {
    clearInterval(timer);
    progress.clear();
  });
  if (code !== 0) throw new Error(`npm ci failed:\n${said.slice(-30).join('\n')}`);
}

const notInPath = 'npm is not in PATH: install Node.js with npm.';

/**
 * Without these options, npm leaves out development packages when NODE_ENV is production, and the next start would
 * install again.
 */
const includes = ['--include=dev', '--include=optional'];

/**
 * Runs `npm ci`, with the npm that started this process if there is one. npm ends when this process is killed, so that
 * no partial installation continues unseen.
 * @returns {Promise<number | null>} the exit code; null when a signal ended npm
 * @throws Error when npm cannot be started
 */
function runNpm(root, onText) {
  const args = ['ci', ...includes, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=http'];
  const own = process.env.npm_execpath;
  const [command, ...before] = own?.endsWith('.js') ? [process.execPath, own] : ['npm'];
  return new Promise((resolve, reject) => {
    const npm = spawn(command, [...before, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    watchChild(npm);
    for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', onText);
    npm.on('error', (error) => reject(error.code === 'ENOENT' ? new Error(notInPath, { cause: error }) : error));
    npm.on('close', resolve);
  });
}
