// npm run bench:engine: compares engine settings, one at a time, with the shipped settings.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { engineProperties, postgresqlProperties, redisProperties } from '../dev/engine/engine-arguments.ts';
import { productionJava, type Setting, settings } from './engine/settings.ts';
import { measure, type Result } from './measure/measure.ts';
import type { Processes } from './measure/processes.ts';
import { engineName, positive, storeOf } from './options.ts';
import { type EngineStore, startBenchEngine } from './programs/engine.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench, Stops } from './run.ts';
import { HttpClient } from './targets/http-client.ts';
import { createTwoCalls } from './targets/two-calls.ts';

const help = `Usage: npm run bench:engine [-- options]

For each setting, runs two new engines side by side and loads them in turn: one as shipped, one that differs in that
setting. The load consists of the engine calls that the router makes for a read: a start and a result.

  --store sqlite           store of the engines: sqlite, postgresql, redis
  --only <text>            only settings whose name contains this text
  --in-flight 8            clients of the closed loop
  --seconds 5              length of one measurement
  --warm-up 3              seconds of load before each measurement; before the first one of an engine, four times as long
  --turns 3                measurements of each engine
  --help                   this text
`;

const propertiesOf: Readonly<Record<EngineStore, string>> = {
  sqlite: engineProperties,
  postgresql: postgresqlProperties,
  redis: redisProperties,
};
const shipped = 'shipped';
const tried = 'tried';

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        store: { type: 'string', default: 'sqlite' },
        only: { type: 'string', default: '' },
        'in-flight': { type: 'string', default: '8' },
        seconds: { type: 'string', default: '5' },
        'warm-up': { type: 'string', default: '3' },
        turns: { type: 'string', default: '3' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) return run.say(help);
    const store = storeOf(values.store);
    const load = {
      inFlight: [positive('in-flight', values['in-flight'])],
      seconds: positive('seconds', values.seconds),
      warmUpSeconds: positive('warm-up', values['warm-up']),
      repetitions: positive('turns', values.turns),
    };
    const circumstances = await lookAround(engineName({ store }));
    run.say(describeCircumstances(circumstances));
    const chosen = settings.filter(({ name, only = store }) => only === store && name.includes(values.only));
    const found: { setting: string; results?: Result[]; failure?: string }[] = [];
    for (const [index, setting] of chosen.entries()) {
      const step = (line: string) => run.step(`${index + 1} of ${chosen.length}, ${setting.name}: ${line}`);
      found.push({ setting: setting.name, ...(await compare({ ...run, step }, setting, { store, load })) });
      const file = writeJson(`engine-${store}.json`, { ...circumstances, load, found });
      if (index === chosen.length - 1) run.say(`${tableOf(found)}\n\n${file}`);
    }
  }),
);

type Load = Pick<Parameters<typeof measure>[0], 'inFlight' | 'seconds' | 'warmUpSeconds' | 'repetitions'>;

/**
 * Compares an engine that has the setting with an engine as shipped. Both engines run during the whole comparison,
 * because the JIT compiler optimises the code of an engine further while the engine runs.
 */
async function compare(
  run: Run,
  setting: Setting,
  { store, load }: { store: EngineStore; load: Load },
): Promise<{ results: Result[] } | { failure: string }> {
  const stops = new Stops();
  run.onEnd(() => stops.stopAll());
  const startOne = async (
    name: string,
    { properties = [], java = (options) => options, sql = [] }: Omit<Setting, 'name'>,
  ) => {
    const stateDir = mkdtempSync(join(run.stateDir, 'engine-'));
    const file = join(stateDir, 'engine.properties');
    const text = readFileSync(propertiesOf[store], 'utf8');
    // The last of several lines with the same key applies.
    writeFileSync(file, `${text}\n${properties.join('\n')}\n`);
    const part = { ...run, stateDir, onEnd: (stop: () => unknown) => stops.add(stop) };
    const javaOptions = java(productionJava);
    const engine = await startBenchEngine(part, { store, properties: file, javaOptions, sql });
    const client = new HttpClient(engine.url, Math.max(...load.inFlight));
    stops.add(() => client.close());
    return { target: createTwoCalls(name, client), processes: await engine.processes() };
  };
  try {
    const engines = [await startOne(shipped, {}), await startOne(tried, setting)] as const;
    const named = engines.map(({ target, processes }) =>
      Object.entries(processes).map(([name, pids]) => [`${target.name} ${name}`, pids] as const),
    );
    const processes: Processes = Object.fromEntries(named.flat());
    return {
      results: await measure({ ...load, targets: engines.map((one) => one.target), processes, onStep: run.step }),
    };
  } catch (error) {
    return { failure: (error as Error).message };
  } finally {
    await stops.stopAll();
  }
}

function tableOf(found: readonly { setting: string; results?: Result[]; failure?: string }[]): string {
  const head = [
    'setting',
    'engine, ms',
    'engine as shipped, ms',
    'database, ms',
    'database as shipped, ms',
    'ratio of ms',
    'ratio of requests/s',
    'ratio of p99',
  ];
  const rows = found.map(({ setting, results = [], failure }) => {
    const [own, theirs] = [tried, shipped].map((name) => results.find(({ target }) => target === name)?.figures);
    if (own === undefined || theirs === undefined) return [`\`${setting}\``, failure ?? ''];
    const timesOf = ({ processorMs }: typeof own, name: string) =>
      ['engine', 'database'].map((part) => processorMs[`${name} ${part}`] ?? 0);
    const [engine = 0, database = 0] = timesOf(own, tried);
    const [engineBefore = 0, databaseBefore = 0] = timesOf(theirs, shipped);
    const milliseconds = [engine, engineBefore, database, databaseBefore].map((ms) => ms.toFixed(2));
    return [
      `\`${setting}\``,
      ...milliseconds,
      ((engine + database) / (engineBefore + databaseBefore)).toFixed(2),
      (own.requestsPerSecond / theirs.requestsPerSecond).toFixed(2),
      (own.p99 / theirs.p99).toFixed(2),
    ];
  });
  return markdownTable([head, ...rows]);
}
