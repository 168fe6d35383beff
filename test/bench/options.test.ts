// Tests of the options of the benches: valid options are applied, and errors name invalid ones.

import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../bench/options.ts';

describe('the options of npm run bench', () => {
  it('are those of a full run when there are no flags', () => {
    expect(parseOptions([])).toMatchObject({
      ...{ inFlight: [1, 8, 32, 128], seconds: 10, repetitions: 3, name: 'sqlite' },
      targets: ['direct', 'proxy', 'floor', 'router', 'sdk-default', 'execute'],
    });
  });

  it('keep the order of the tables, whatever the order of --targets', () => {
    expect(parseOptions(['--targets', 'router,floor']).targets).toEqual(['floor', 'router']);
  });

  it('include options for Java and name the files after the database', () => {
    const { engine, name } = parseOptions(['--store', 'postgresql', '--java-options=-Xmx1g  -XX:+UseParallelGC']);
    expect(engine).toMatchObject({ store: 'postgresql', javaOptions: ['-Xmx1g', '-XX:+UseParallelGC'] });
    expect(name).toBe('postgresql');
  });

  it('include --production, which selects PostgreSQL', () => {
    expect(parseOptions(['--production'])).toMatchObject({
      ...{ production: true, name: 'production', engine: { store: 'postgresql' } },
    });
  });

  it.each([
    [['--in-flight', '1,many'], '--in-flight takes numbers above 0, not "many"'],
    [['--seconds', '0'], '--seconds takes numbers above 0, not "0"'],
    [['--targets', 'router,rooter'], '--targets: rooter is not one of'],
    [['--store', 'mysql'], '--store takes sqlite, postgresql, redis, not "mysql"'],
    [['--fast'], '--fast'],
  ])('reject %j with a message', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});
