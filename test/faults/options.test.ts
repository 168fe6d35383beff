// Tests of the command line of `npm run faults`.

import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.ts';

describe('the options', () => {
  it('no options: every case, on SQLite, for three minutes each', () => {
    expect(parseOptions([])).toMatchObject({ cases: [], store: 'sqlite', engines: 1, minutes: 3, slack: 1, load: 1 });
  });

  it('--kills and --requests: the case kills-under-load, for up to two hours', () => {
    const parsed = parseOptions(['--requests', '20000', '--kills', '200']);
    expect(parsed).toMatchObject({ cases: ['kills-under-load'], kills: 200, requests: 20_000, minutes: 120 });
  });

  it('--requests alone: nothing is killed', () => {
    expect(parseOptions(['--requests', '500'])).toMatchObject({ cases: ['kills-under-load'], kills: 0, requests: 500 });
  });

  it.each(['--store', '--engine'])('%s redis: an engine on Redis, which syncs once a second', (name) => {
    expect(parseOptions([name, 'redis'])).toMatchObject({ store: 'redis', appendfsync: 'everysec' });
  });

  it('--appendfsync always: Redis syncs before it acknowledges', () => {
    const parsed = parseOptions(['--store', 'redis', '--appendfsync', 'always']);
    expect(parsed).toMatchObject({ store: 'redis', appendfsync: 'always' });
  });

  it('a store other than redis: no appendfsync', () => {
    expect(parseOptions(['--store', 'postgresql']).appendfsync).toBeUndefined();
  });

  it('the same seed: the same choices', () => {
    const [one, other] = [parseOptions(['--seed', '7']), parseOptions(['--seed', '7'])];
    expect([one.random.seed, one.random.next()]).toEqual([7, other.random.next()]);
  });

  it.each([
    [['--store', 'mysql'], '--store must be sqlite, postgresql or redis, not mysql'],
    [['--engine', 'mysql'], '--store must be sqlite, postgresql or redis, not mysql'],
    [['--store', 'redis', '--engine', 'sqlite'], '--store redis and --engine sqlite contradict each other'],
    [['--appendfsync', 'always'], '--appendfsync needs --store redis'],
    [['--store', 'redis', '--appendfsync', 'no'], '--appendfsync must be everysec or always, not no'],
    [['--store', 'redis', '--engines', '2'], 'several engines need --store postgresql'],
    [['--kills', 'many'], '--kills must be a positive number, not many'],
    [['--engines', '2'], 'several engines need --store postgresql'],
  ])('%j: rejected with a message', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});
