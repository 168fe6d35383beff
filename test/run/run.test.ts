// Tests of the parts of a run: seed, depth, requirements, and the table at its end.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { byDepth, depthOfRun } from './depth.ts';
import { fc } from './properties.ts';
import { joinRecords, toTable } from './record.ts';
import { notRunBecause, requires } from './requirements.ts';
import { randomOfRun, seedOfRun } from './seed.ts';

afterEach(() => void vi.unstubAllEnvs());

describe('the seed of a run', () => {
  it('is TEST_SEED, or a new one that child processes inherit', () => {
    const env: NodeJS.ProcessEnv = {};
    expect(seedOfRun({ TEST_SEED: '7' })).toBe('7');
    expect(seedOfRun(env)).toBe(env['TEST_SEED']);
    expect(() => seedOfRun({ TEST_SEED: 'x' })).toThrow('not a seed: x');
  });

  it('repeats the same choices, including those of fast-check', () => {
    const choices = () => Array.from({ length: 5 }, randomOfRun().next);
    expect(choices()).toEqual(choices());
    expect(fc.readConfigureGlobal().seed).toBe(Number(seedOfRun()));
  });
});

describe('the depth of a run', () => {
  it.each([
    ['quick', 1],
    ['full', 9],
  ])('%s → %d', (depth, expected) => {
    vi.stubEnv('TEST_DEPTH', depth);
    expect(byDepth(1, 9)).toBe(expected);
  });

  it('is quick or full', () => {
    expect(depthOfRun({})).toBe('quick');
    expect(() => depthOfRun({ TEST_DEPTH: 'deep' })).toThrow('TEST_DEPTH must be quick or full, but is "deep"');
  });
});

describe('a requirement', () => {
  it('that is met skips nothing', () => {
    vi.stubEnv('TEST_REQUIRE', 'bash');
    expect(requires('bash')).toEqual({});
    expect(notRunBecause('')).toEqual({});
  });

  it('that is not met: the test does not run, and the table says why', () => {
    vi.stubEnv('WITHOUT_GRAFANA', '1');
    expect(requires('bash', 'grafana')).toEqual({ skip: true, meta: { notRun: 'is excluded by WITHOUT_GRAFANA=1' } });
  });

  it('that is not met and that TEST_REQUIRE names: throws', () => {
    vi.stubEnv('WITHOUT_GRAFANA', '1');
    vi.stubEnv('TEST_REQUIRE', 'redis,grafana');
    expect(() => requires('grafana')).toThrow(
      'TEST_REQUIRE names grafana, and this test is excluded by WITHOUT_GRAFANA=1',
    );
  });
});

it('the table lists passed and failed tests, tests that did not run and why, and the slowest files first', () => {
  const one = { file: 'one.test.ts', seconds: 1, passed: 3, failed: [], notRun: [{ reason: 'needs zsh', tests: 2 }] };
  const two = { file: 'two.test.ts', seconds: 12.34, passed: 4, failed: ['breaks'], notRun: [] };
  const record = joinRecords([
    { files: [one], errors: [] },
    { files: [two], errors: ['lost'] },
  ]);
  expect(toTable(record)).toEqual([
    'passed   7 in 2 files',
    'failed   2',
    '  two.test.ts: breaks',
    '  outside of a test: lost',
    'not run  2',
    '    2  one.test.ts: needs zsh',
    'slowest files',
    '   12.3 s  two.test.ts',
    '    1.0 s  one.test.ts',
  ]);
});
