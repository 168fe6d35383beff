// Runs an entry file as a child, and makes the two live and die together.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const exitWithParent = fileURLToPath(new URL('./exit-with-parent.mjs', import.meta.url));

/** Ctrl-C reaches us from the terminal and once more from npm: what comes this close together is one signal. */
const sameSignalMs = 500;

/** How often we look whether the npm that started us is still there, in milliseconds. */
const parentCheckMs = 1_000;

/**
 * Runs it and ends as it ends: with its exit code, or by its signal. The child leads a process group of its own, so
 * that a signal reaches the group through us and exactly once. Should we be killed, the child notices (exit-with-parent.mjs).
 * @param {{ node: string, root: string, entry: string, args: string[] }} options `entry` is relative to `root`
 */
export function runEntry({ node, root, entry, args }) {
  const flags = ['--disable-warning=ExperimentalWarning', `--import=${exitWithParent}`];
  const child = spawn(node, [...flags, resolve(root, entry), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
  });
  const passed = passSignals(child);
  // Who was told to stop already is not told twice: the second time means at once.
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
    // Some signals cannot end us this way; then the code says it as a shell would.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 200);
  });
}

/** Returns the signals that were passed, with the time of each. */
function passSignals(child) {
  const passedAt = new Map();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = performance.now();
      if (now - (passedAt.get(signal) ?? -Infinity) < sameSignalMs) return;
      passedAt.set(signal, now);
      signalGroup(child, signal);
    });
  }
  return passedAt;
}

/** As the terminal would: what the child runs gets it too, unless it was put into a group of its own. */
function signalGroup(child, signal) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It ended in this very moment.
  }
}

/** npm that is killed leaves us behind: then we stop as well. Whoever starts us without npm may leave. */
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
