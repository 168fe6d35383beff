// Reads the CPU time and memory of whole process trees from Linux's /proc. A process alone is not enough, because
// PostgreSQL starts a process for each connection.

import { readdirSync, readFileSync } from 'node:fs';

const msPerTick = 10;

/** The id of each process's parent, by process id. */
export type Parents = ReadonlyMap<number, number>;

/** Returns the roots and all their descendants. */
export function descendantsOf(roots: readonly number[], parents: Parents): number[] {
  const children = new Map<number, number[]>();
  for (const [pid, parent] of parents) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found: number[] = [];
  const visit = (pid: number) => {
    if (found.includes(pid)) return;
    found.push(pid);
    for (const child of children.get(pid) ?? []) visit(child);
  };
  for (const root of roots) visit(root);
  return found;
}

/** Returns the roots and all their current descendants; only the roots on systems other than Linux. */
export function processTree(roots: readonly number[]): number[] {
  return descendantsOf(roots, parentsOf(readAll()));
}

/**
 * Returns the CPU time of the trees since their start, in milliseconds. This includes the time of processes that have
 * ended, which their parents have accumulated in `cutime` and `cstime` (proc_pid_stat(5)).
 */
export function treeProcessorMs(roots: readonly number[]): number {
  const fields = readAll();
  const tree = descendantsOf(roots, parentsOf(fields));
  const ticks = tree.flatMap((pid) => (fields.get(pid) ?? []).slice(11, 15).map(Number));
  return ticks.reduce((sum, value) => sum + value, 0) * msPerTick;
}

/**
 * Returns the memory of the trees in MiB. Shared pages count once (`Pss`); where the system does not report `Pss`,
 * resident memory is used.
 */
export function treeMemoryMiB(roots: readonly number[]): number {
  return processTree(roots).reduce((sum, pid) => sum + memoryKiB(pid), 0) / 1_024;
}

function memoryKiB(pid: number): number {
  const shared = /^Pss:\s+(\d+) kB$/m.exec(readProcess(pid, 'smaps_rollup'))?.[1];
  const resident = () => /^VmRSS:\s+(\d+) kB$/m.exec(readProcess(pid, 'status'))?.[1];
  return Number(shared ?? resident() ?? 0);
}

/** Returns, by process id, the fields of `stat` that follow the name: state, parent … */
function readAll(): Map<number, string[]> {
  const pids = readFolder('/proc').filter((name) => /^\d+$/.test(name));
  // The second field is the name in parentheses, which may contain any character.
  const entries = pids.map((pid) => [Number(pid), readProcess(Number(pid), 'stat').split(') ').at(-1) ?? ''] as const);
  return new Map(entries.filter(([, text]) => text !== '').map(([pid, text]) => [pid, text.split(' ')]));
}

function parentsOf(fields: ReadonlyMap<number, readonly string[]>): Parents {
  return new Map([...fields].map(([pid, [, parent]]) => [pid, Number(parent)]));
}

/** Returns the text of a /proc file; empty when the process has ended, or on systems other than Linux. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
