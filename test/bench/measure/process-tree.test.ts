// Tests of process trees: which processes belong to a tree, and how much CPU time and memory it uses.

import { describe, expect, it } from 'vitest';
import { descendantsOf, treeMemoryMiB, treeProcessorMs } from '../../../bench/measure/process-tree.ts';

describe('a process tree', () => {
  const parents = new Map([
    [10, 1],
    [11, 10],
    [12, 11],
    [20, 1],
    [21, 20],
  ]);

  it('has the roots and everything below them', () => {
    expect(descendantsOf([10], parents)).toEqual([10, 11, 12]);
  });

  it('counts a process once when a root is below another root', () => {
    expect(descendantsOf([10, 11, 20], parents)).toEqual([10, 11, 12, 20, 21]);
  });

  it('has only the root when the system does not show processes', () => {
    expect(descendantsOf([10], new Map())).toEqual([10]);
  });

  it.runIf(process.platform === 'linux')('of this process has used processor time and memory', () => {
    expect(treeProcessorMs([process.pid])).toBeGreaterThan(0);
    expect(treeMemoryMiB([process.pid])).toBeGreaterThan(10);
  });

  it('that has ended has zero CPU time and memory', () => {
    expect(treeProcessorMs([2 ** 30])).toBe(0);
    expect(treeMemoryMiB([2 ** 30])).toBe(0);
  });
});
