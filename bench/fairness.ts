// npm run bench:fairness: measures the latency of a client that sends one request at a time, alone and beside a client
// with many requests in flight.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type LoadFigures, type Latencies, latenciesOf } from './measure/load-figures.ts';
import { engineChoiceOf, engineFlags, engineFlagsHelp, engineName, positive } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { startBenchEngine } from './programs/engine.ts';
import { startSender } from './programs/sending.ts';
import type { Plan } from './programs/sender.ts';
import { moviePath, startStack } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable, readable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';

const help = `Usage: npm run bench:fairness [-- options]

A quiet client sends one request at a time, alternately alone and beside a greedy client with many requests in flight.

  --seconds 20                  length of each run
  --repetitions 3               runs of each kind
  --warm-up 20                  seconds of load before the first run
  --greedy-in-flight 32         requests in flight of the greedy client
  --max-in-flight 1             client.<greedy>.maxInFlight; 0: no limit
  --requests-per-second 0       client.<greedy>.requestsPerSecond; 0: no limit
${engineFlagsHelp}`;

/** Clients of the embedded identity provider, by their role in this bench. */
const quiet = 'demo';
const greedy = 'reader';

interface Turn {
  /** Figures of the quiet client. */
  readonly quiet: LoadFigures;
  /** Figures of the greedy client; absent when the quiet client is alone. */
  readonly greedy?: LoadFigures;
}

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        seconds: { type: 'string', default: '20' },
        repetitions: { type: 'string', default: '3' },
        'warm-up': { type: 'string', default: '20' },
        'greedy-in-flight': { type: 'string', default: '32' },
        'max-in-flight': { type: 'string', default: '1' },
        'requests-per-second': { type: 'string', default: '0' },
        ...engineFlags,
      },
    });
    if (values.help) return run.say(help);
    const circumstances = await lookAround(engineName(values));
    run.say(describeCircumstances(circumstances));
    // No upper-case environment variable sets these keys, because they contain the name of a client. They are set in a
    // file, to which CONFIG_URL points.
    const limits = join(run.stateDir, 'limits.properties');
    const lines = [
      limit('maxInFlight', values['max-in-flight']),
      limit('requestsPerSecond', values['requests-per-second']),
    ];
    writeFileSync(limits, lines.join(''));
    const load = await startPrograms(run, values, { CONFIG_URL: pathToFileURL(limits).href });
    const inFlight = positive('greedy-in-flight', values['greedy-in-flight']);
    const seconds = positive('seconds', values.seconds);
    run.step('warming up');
    await load(positive('warm-up', values['warm-up']), inFlight, quiet);
    const turns: Turn[] = [];
    const repetitions = positive('repetitions', values.repetitions);
    for (let repetition = 0; repetition < repetitions; repetition++) {
      for (const beside of repetition % 2 === 0 ? [0, inFlight] : [inFlight, 0]) {
        run.step(
          `run ${turns.length + 1} of ${2 * repetitions}: ${beside === 0 ? 'alone' : 'beside the greedy client'}`,
        );
        const others = beside === 0 ? undefined : load(seconds, beside, greedy);
        const own = await load(seconds, 1, quiet);
        const theirs = await others;
        turns.push({ quiet: own, ...(theirs === undefined ? {} : { greedy: theirs }) });
      }
    }
    const file = writeJson(`${values.name ?? 'fairness'}.json`, { ...circumstances, options: values, turns });
    run.say(`${report(turns)}\n\n${file}`);
  }),
);

function limit(name: string, value: string): string {
  return value === '0' ? '' : `client.${greedy}.${name}=${value}\n`;
}

type Load = (seconds: number, inFlight: number, client: typeof quiet | typeof greedy) => Promise<LoadFigures>;

async function startPrograms(
  run: Run,
  values: Parameters<typeof engineChoiceOf>[0],
  routerEnv: Record<string, string>,
): Promise<Load> {
  const engine = await startBenchEngine(run, engineChoiceOf(values));
  const backEnd = await startBackEnd(run);
  const stack = await startStack(run, { engine, backEndUrl: backEnd.url, routerEnv });
  const { hostname: host, port } = new URL(stack.url);
  const senders = { [quiet]: await startSender(run, quiet), [greedy]: await startSender(run, greedy) };
  const tokens = { [quiet]: await stack.tokenOf(quiet), [greedy]: await stack.tokenOf(greedy) };
  return (seconds, inFlight, client) => {
    const head = `host: ${host}:${port}\r\nauthorization: Bearer ${tokens[client]}\r\n`;
    const requests = [{ name: 'read', text: `GET ${moviePath} HTTP/1.1\r\n${head}\r\n` }];
    const plan: Plan = { host, port: Number(port), requests, arrival: { inFlight }, seconds, patienceMs: 20_000 };
    return senders[client].send(plan);
  };
}

function report(turns: readonly Turn[]): string {
  const rows = turns.map(({ quiet: own, greedy: other }) => [
    other === undefined ? 'alone' : 'beside the greedy client',
    ...figures(own.served),
    String(own.refused.count + countOf(own.others) + own.unanswered),
    ...(other === undefined
      ? ['', '', '', '']
      : [
          readable(other.goodput),
          readable(other.offeredPerSecond - other.goodput),
          readable(other.refused.p99),
          JSON.stringify(other.others),
        ]),
  ]);
  const header = ['quiet client', 'p50 ms', 'p99 ms', 'requests', 'failed'];
  const more = ['greedy served/s', 'refused/s', 'refused p99 ms', 'other'];
  const alone = middleOf(turns.filter((turn) => turn.greedy === undefined));
  const beside = middleOf(turns.filter((turn) => turn.greedy !== undefined));
  const ratio = (beside / alone).toFixed(2);
  const verdict = `p99 of the quiet client, median of its runs: ${readable(alone)} ms alone, ${readable(beside)} ms beside the greedy client (ratio ${ratio})`;
  return `${markdownTable([[...header, ...more], ...rows])}\n\n${verdict}`;
}

function figures({ p50, p99, count }: Latencies): string[] {
  return [readable(p50), readable(p99), String(count)];
}

function middleOf(turns: readonly Turn[]): number {
  return latenciesOf(turns.map(({ quiet: { served } }) => ({ ms: served.p99 }))).p50;
}

function countOf(others: Readonly<Record<string, number>>): number {
  return Object.values(others).reduce((sum, count) => sum + count, 0);
}
