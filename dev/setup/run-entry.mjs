// Runs an entry file as a child process, forwards signals to it and exits in the same way as the child.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';

/** A URL, because Node parses the value of `--import` as a URL. */
const exitWithParent = new URL('./exit-with-parent.mjs', import.meta.url).href;

/** A Ctrl-C arrives twice: from the terminal and from npm. Signals within this many milliseconds count as one. */
const sameSignalMs = 500;

/** Interval for checking that the parent npm is still running, in milliseconds. */
const parentCheckMs = 1_000;

/**
 * Returns the folder in which Node keeps the compiled code of a checkout between runs. Node ignores code whose source
 * has changed.
 * @param {string} root
 */
export const compileCacheOf = (root) => join(root, 'node_modules/.cache/node-compile');

/**
 * Runs the entry file and ends with its exit code or by its signal. The child leads its own process group, so that
 * each signal reaches the group exactly once, through this process. If this process is killed, the child stops
 * (exit-with-parent.mjs).
 * @param {{ node: string, root: string, entry: string, args: string[], compileCache?: string }} options `entry` is
 *   relative to `root`; `compileCache` is where Node keeps compiled code, unless `NODE_COMPILE_CACHE` names a folder
 */
export function runEntry({ node, root, entry, args, compileCache }) {
  // Called before the child starts, because a signal that arrives during the start must not end only this process.
  const passed = passSignals((signal) => signalGroup(child, signal));
  const flags = ['--disable-warning=ExperimentalWarning', `--import=${exitWithParent}`];
  const child = spawn(node, [...flags, resolve(root, entry), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
    env: { ...withCompileCache(compileCache), ...process.env },
  });
  // A second signal would mean an immediate stop, so none is sent when a signal was already forwarded.
  const stopWatching = watchParent(() => passed.size === 0 && signalGroup(child, 'SIGTERM'));
  child.on('error', (error) => {
    stopWatching();
    process.stderr.write(`${node} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    stopWatching();
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // If the signal does not end this process, it exits with the code that a shell would use.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 200);
  });
}

/**
 * Programs need half as much processor time to start when Node finds their TypeScript already compiled. The cache is
 * off while coverage is measured, because V8 counts functions from the cache less exactly.
 */
function withCompileCache(folder) {
  return folder === undefined || process.env.NODE_V8_COVERAGE !== undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/** Forwards signals. Returns the forwarded signals with their times. */
function passSignals(forward) {
  const passedAt = new Map();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = performance.now();
      if (now - (passedAt.get(signal) ?? -Infinity) < sameSignalMs) return;
      passedAt.set(signal, now);
      forward(signal);
    });
  }
  return passedAt;
}

/** Signals the child's process group, as a terminal would. */
function signalGroup(child, signal) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The process has ended in the meantime.
  }
}

/** Calls `onGone` when the npm that started this process has died. A parent other than npm may end first. */
function watchParent(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, parentCheckMs);
  return () => clearInterval(timer);
}
