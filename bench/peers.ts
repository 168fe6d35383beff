// npm run bench:peers: compares the router with other systems that execute requests durably, and with a plain HTTP hop.

import { parseArgs } from 'node:util';
import { productionJava } from './engine/settings.ts';
import { median } from './measure/figures.ts';
import { loadOptionsOf, positive } from './options.ts';
import { bullmq } from './peers/bullmq.ts';
import { conductorExecute, conductorSdk } from './peers/conductor.ts';
import { dbos } from './peers/dbos.ts';
import { httpHop } from './peers/http-hop.ts';
import { installPackages } from './peers/install.ts';
import { measurePeers, type PeerResult } from './peers/measure-peers.ts';
import type { Peer } from './peers/peer.ts';
import { restate } from './peers/restate.ts';
import { router } from './peers/router.ts';
import { zeebe } from './peers/zeebe.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { type Circumstances, describeCircumstances, lookAround } from './report/machine.ts';
import { peerChart } from './report/peer-chart.ts';
import { failureList, figuresTable, peerReport } from './report/peer-report.ts';
import { ownFolder, resultsFolder, writeJson, writeResults } from './report/write-results.ts';
import { runBench } from './run.ts';

const flags = {
  'in-flight': { type: 'string' },
  seconds: { type: 'string' },
  'warm-up': { type: 'string' },
  'first-warm-up': { type: 'string' },
  repetitions: { type: 'string' },
  peers: { type: 'string' },
  'java-options': { type: 'string', default: productionJava.join(' ') },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** Defaults of the flags. */
const full = { 'in-flight': '1,8,32,128', seconds: '10', 'warm-up': '2', 'first-warm-up': '45', repetitions: '3' };
/** Defaults with --quick: long enough to see that everything starts and responds; the figures mean nothing. */
const quick: typeof full = { 'in-flight': '1,8', seconds: '1', 'warm-up': '1', 'first-warm-up': '3', repetitions: '1' };

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({ options: flags });
    const all = peersOf(values['java-options'].split(' ').filter((option) => option !== ''));
    if (values.help) return run.say(helpOf(all));
    if (process.env['CONDUCTOR_URL']) throw new Error('bench:peers starts its own engines: unset CONDUCTOR_URL');
    const chosen = { ...(values.quick ? quick : full), ...values };
    const load = loadOptionsOf(chosen);
    const firstWarmUpSeconds = positive('first-warm-up', chosen['first-warm-up']);
    const peers = chosenOf(all, values.peers);
    const before = await lookAround('each system alone');
    run.say(describeCircumstances(before));
    installPackages(run);
    const backEnd = await startBackEnd(run);
    const folder = values.quick ? ownFolder : resultsFolder;
    let done = 0;
    // A run takes an hour, so the results so far are written after each repetition, in case a later one fails.
    for await (const results of measurePeers(run, backEnd, { ...load, firstWarmUpSeconds, peers })) {
      const options = { ...load, firstWarmUpSeconds, repetitions: (done += 1) };
      const files = writeAll(
        { results, options, circumstances: { ...before, busyDuring: busyDuring(results) } },
        folder,
      );
      if (done === load.repetitions) run.say([...tablesOf(results), ...files].join('\n\n'));
    }
  }),
);

interface Outcome {
  readonly results: readonly PeerResult[];
  /** The given options; `repetitions` is the number of repetitions that the results contain. */
  readonly options: object;
  readonly circumstances: Circumstances;
}

/** Writes the figures, the chart and the report. @returns their paths */
function writeAll({ results, options, circumstances }: Outcome, folder: string): string[] {
  const caption = describeCircumstances(circumstances);
  const date = circumstances.date.slice(0, 10);
  const command = ['npm run bench:peers', ...separated(process.argv.slice(2))].join(' ');
  const report = peerReport({ ...{ caption, date, command, results }, chart: 'peers.svg' });
  return [
    writeJson('peers.json', { ...circumstances, options, results }),
    writeResults('peers.svg', peerChart(results, caption), folder),
    writeResults(`${date}-peers.md`, report, folder),
  ];
}

function tablesOf(results: readonly PeerResult[]): string[] {
  return [figuresTable(results), failureList(results)].filter((part) => part !== '');
}

/** Returns the systems in the order of the table. */
function peersOf(javaOptions: readonly string[]): Peer[] {
  return [
    httpHop,
    router('sqlite', javaOptions),
    router('redis', javaOptions),
    router('postgresql', javaOptions),
    conductorExecute(javaOptions),
    conductorSdk(javaOptions),
    restate({ fsync: true }),
    restate({ fsync: false }),
    dbos,
    zeebe({ fsync: true }),
    zeebe({ fsync: false }),
    bullmq('everysec'),
    bullmq('always'),
  ];
}

function chosenOf(all: readonly Peer[], text: string | undefined): Peer[] {
  if (text === undefined) return [...all];
  const asked = text.split(',');
  const unknown = asked.filter((name) => all.every((peer) => peer.name !== name));
  if (unknown.length > 0) throw new Error(`--peers: ${unknown.join(', ')} is not one of ${namesOf(all)}`);
  return all.filter(({ name }) => asked.includes(name));
}

function namesOf(peers: readonly Peer[]): string {
  return peers.map(({ name }) => name).join(', ');
}

function busyDuring(results: readonly PeerResult[]): number {
  const shares = results.flatMap(({ loads }) => loads.map(({ figures }) => figures.othersShare));
  return median(shares) || 0;
}

function separated(args: readonly string[]): string[] {
  return args.length === 0 ? [] : ['--', ...args];
}

function helpOf(peers: readonly Peer[]): string {
  return `Usage: npm run bench:peers [-- options]

Compares the router with other systems that execute a request durably, and with a plain HTTP hop. All of them send the
same request to the same back end. The first run installs the systems in bench/peers/, and Zeebe, with Maven, in the
user's cache.

  --in-flight 1,8,32,128   clients of the closed loop
  --seconds 10             length of one measurement
  --warm-up 2              seconds of the same load before each measurement
  --first-warm-up 45       seconds of load after each start of a system
  --repetitions 3          number of starts of each system; the order of the systems rotates
  --peers a,b              systems to measure: ${namesOf(peers)}
  --java-options="<…>"     JVM options of Conductor's engine; default: those of production
  --quick                  a smoke test: one measurement of one second with 1 request in flight and one with 8;
                           the results go to .run/bench/
  --help                   this text
`;
}
