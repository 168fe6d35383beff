// Tests of results: they are kept by case and topology, removed when the product has changed, and shown as tables.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeFindings, reportOf } from './report.ts';
import { type Findings, hasHeld, Results, topologyName, topologyOf } from './results.ts';

const findings = (more: Partial<Findings> = {}): Findings => ({
  case: 'engine-killed',
  topology: { store: 'sqlite', engines: 1, routers: 1 },
  circumstances: {
    ...{
      date: '2030-01-01T00:00:00Z',
      commit: 'abc1234',
      node: 'v24',
      engine: 'Conductor',
      busyBefore: 0,
      loadAverage: 1,
    },
    machine: { cores: 2, processor: 'A processor', memoryGiB: 8, system: 'Linux' },
  },
  ...{ product: 'aaaaaaaaaaaa', seed: 7, slack: 1, tries: 2, kills: 2, requests: 300, ends: { 200: 290, '503 x': 10 } },
  judged: { I1: 1, I2: 2, I3: 3, I4: 4, I5: 5, I6: 0, I7: 7 },
  ...{ violations: 0, examples: [], complaints: [], notes: [] },
  recoveries: [
    { kind: 'engine', ms: 1_000, outageMs: 9_000 },
    { kind: 'engine', ms: 3_000, outageMs: 11_000 },
  ],
  undisturbed: { requests: 100, succeeded: 100 },
  patches: { acknowledged: 40, lost: 0, doubled: 0 },
  unacknowledged: { applied: 1, withoutMdm: 0 },
  ...{ replays: 0, levels: undefined, seconds: 60 },
  ...more,
});

let dir: string;
let results: Results;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'results-'));
  results = new Results(dir);
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the results', () => {
  it('are kept by case and topology', () => {
    const topology = { store: 'postgresql', engines: 2, routers: 2 } as const;
    for (const each of [findings(), findings({ seed: 8 }), findings({ topology })]) results.keep(each);
    expect(readdirSync(dir)).toEqual(['engine-killed.postgresql-2x2.json', 'engine-killed.sqlite.json']);
    expect(results.runsOf(findings()).map(({ seed }) => seed)).toEqual([7, 8]);
    expect(results.read().flat()).toHaveLength(3);
  });

  it('of other product code are removed, with the histories of its failures', () => {
    const old = findings({ product: 'bbbbbbbbbbbb' });
    for (const each of [findings(), old, findings({ ...old, case: 'redis-away' })]) results.keep(each);
    for (const each of [findings(), old]) results.keepFailure(each, { 'history.jsonl': '{}' });
    results.removeStale('aaaaaaaaaaaa');
    expect(results.read().flat()).toEqual([findings()].map((each) => JSON.parse(JSON.stringify(each))));
    expect(readdirSync(join(dir, 'failures'))).toEqual(['engine-killed.sqlite.aaaaaaaaaaaa.7.history.jsonl.gz']);
  });

  it('of a failure are kept with its unchanged history', () => {
    results.keepFailure(findings(), { log: 'a line' });
    const file = join(dir, 'failures', 'engine-killed.sqlite.aaaaaaaaaaaa.7.log.gz');
    expect(gunzipSync(readFileSync(file)).toString()).toBe('a line');
  });

  it.each<[string, Partial<Findings>]>([
    ['violations', { violations: 1 }],
    ['complaints', { complaints: ['x'] }],
    ['an aborted run', { brokeOff: 'x' }],
  ])('with %s do not count as held', (_title, more) => {
    expect([hasHeld(findings()), hasHeld(findings(more))]).toEqual([true, false]);
  });
});

describe('the name of a topology', () => {
  const single = { store: 'redis', engines: 1, routers: 1 } as const;

  it.each([
    [{ ...single, appendfsync: 'everysec' }, 'redis'],
    [{ ...single, appendfsync: 'always' }, 'redis-always'],
    [{ ...single, routers: 2, appendfsync: 'always' }, 'redis-always-1x2'],
    [{ store: 'postgresql', engines: 2, routers: 2, appendfsync: undefined }, 'postgresql-2x2'],
  ] as const)('%j: %s', (topology, name) => {
    expect(topologyName(topologyOf(topology))).toBe(name);
  });
});

describe('the tables', () => {
  it('show code, commit, machine, judged invariants, seeds and recovery', () => {
    const text = reportOf([[findings()]]);
    expect(text).toContain('Product code `aaaaaaaaaaaa` (commit `abc1234`), on 2 cores (A processor), 8 GiB, quiet.');
    expect(text).toContain(
      '| `engine-killed` | sqlite | 2 | 2 | 300 | 40, 0, 0 | 1 · 2 · 3 · 4 · 5 · not judged · 7 | all invariants held | 100 of 100 | 7 |',
    );
    expect(text).toContain('| `engine-killed` | sqlite | engine | 2 | 1.0 s, 3.0 s, 3.0 s | 9.0 s, 11.0 s, 11.0 s |');
  });

  it('show beside the seed that time limits were multiplied or the load was reduced', () => {
    const seedsOf = (more: Partial<Findings>) =>
      / \| ([^|]+) \|$/m.exec(reportOf([[findings(more)]]).split('\n')[4] ?? '')?.[1];
    expect(seedsOf({ load: 1 })).toBe('7');
    expect(seedsOf({ slack: 2 })).toBe('7 (slack 2)');
    expect(seedsOf({ slack: 2, load: 0.5 })).toBe('7 (slack 2, load 0.5)');
  });

  it('show what was wrong with a run, and that a component never recovered', () => {
    const recoveries = [{ kind: 'engine', ms: undefined, outageMs: undefined }];
    const examples = [{ invariant: 'I6', subject: 'op-1', what: 'movies took 2100 ms' }] as const;
    const more = { examples, notes: ['all changes were reconciled'], brokeOff: 'timed out\nsomewhere', recoveries };
    const wrong = findings({ violations: 2, complaints: ['late'], ...more });
    const text = reportOf([[wrong]]);
    expect(text).toContain('| 2 violations; late; aborted: timed out |');
    expect(text).toContain('1 of 1 runs failed');
    expect(text).toContain('| engine | 1 | never | never |');
    expect(text).toContain(
      '\n- `engine-killed` on sqlite: I6: movies took 2100 ms\n- `engine-killed` on sqlite: all changes were reconciled\n',
    );
  });

  it('show what Redis lost and the violations that this explains, even for a run in which all invariants held', () => {
    const example = { invariant: 'I3', subject: 'op-1', what: 'an accepted execution is unknown' } as const;
    const losses = { restarts: 4, marks: 900, lost: 30, longestMs: 640, explained: 1, examples: [example] };
    expect(reportOf([[findings({ losses })]])).toContain(
      '| all invariants held; Redis lost 30 writes in 4 restarts (at most the last 640 ms); they explain 1 violation |',
    );
    const text = describeFindings(findings({ losses }));
    expect(text).toContain('Redis was restarted 4 times and lost 30 of 900 acknowledged test writes');
    expect(text).toContain('not durable: I3 op-1: an accepted execution is unknown');
  });

  it('say only at the end of a run that Redis lost nothing', () => {
    const losses = { restarts: 4, marks: 900, lost: 0, longestMs: 0, explained: 0, examples: [] };
    expect(reportOf([[findings({ losses })]])).toContain('| all invariants held |');
    expect(describeFindings(findings({ losses }))).toContain('lost 0 of 900 acknowledged test writes');
  });

  it('say that there are no runs', () => {
    expect(reportOf([])).toBe('There are no results of this code yet.');
  });

  it('say at the end of a run how many persons were compared, unless the results do not contain the number', () => {
    expect(describeFindings(findings({ persons: { observed: 8, compared: 7 } }))).toContain(
      'I2: 7 of 8 persons compared',
    );
    expect(describeFindings(findings())).not.toContain('persons compared');
  });

  it('show at the end of a run what was lost and doubled, and the first violations', () => {
    const examples = [{ invariant: 'I1', subject: 'op-1', what: 'one PATCH was applied 2 times' }] as const;
    const text = describeFindings(findings({ violations: 1, examples }));
    expect(text).toContain('40 PATCHes answered 2xx: 0 lost, 0 doubled');
    expect(text).toContain('I1 op-1: one PATCH was applied 2 times');
  });
});
