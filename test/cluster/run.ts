// One run: start the topology, load it, kill its parts, let it come to rest, judge.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkHistory, type WrittenText } from '../faults/check-history.ts';
import { countUnacknowledged } from '../faults/figures.ts';
import { type AnyEvent, History } from '../faults/history.ts';
import { moviePath, Operations, termsPathOf } from '../faults/operations.ts';
import { call } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type ClusterLoad, keepToken, startClusterLoad } from './load.ts';
import { killEach } from './nemesis.ts';
import type { ClusterOptions } from './options.ts';
import type { Requirements } from './requirements.ts';
import { tableOf } from './table.ts';
import { startTopology, type Topology } from './topology.ts';
import { stalePersons, violationsOf } from './verdict.ts';

export interface Surroundings {
  readonly dir: string;
  readonly requirements: Requirements;
  readonly say: (line: string) => void;
}

/** `router.responseDeadlineMs`: shorter than the usual one, so that a lost request does not cost half a minute. */
const budgetMs = 10_000;
/** Load before the first kill and after the last, in milliseconds. */
const undisturbedMs = 5_000;
/** A task whose worker died is handed out again after 65 s; an unknown outcome is asked about after 90 s. */
const restMs = 240_000;

/** Runs it. @returns what did not hold, one line each */
export async function runCluster(options: ClusterOptions, { dir, requirements, say }: Surroundings): Promise<string[]> {
  const history = new History(join(dir, 'history.jsonl'));
  const topology = await startTopology({ dir, historyFile: history.file, budgetMs, requirements, say });
  const { components, url, secrets, backEndsUrl } = topology;
  const victims = components.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const clientSecret = secrets['demo'] as string;
  const token = await keepToken(url, clientSecret);
  try {
    const references = await readReferences(backEndsUrl);
    const common = { history, urls: [url], operationsUrl: url, budgetMs };
    const operations = new Operations({ ...common, token: token.value, clientSecret, references });
    await warmUp(operations);
    say('all of it serves');
    const load = startClusterLoad(operations);
    await pause(undisturbedMs);
    const kills = await killEach({ components: victims, load, history, random: options.random, say });
    await pause(undisturbedMs);
    await load.stop();
    const unrest = await untilAtRest(history, backEndsUrl);
    const events = history.read();
    say(`\n${tableOf(kills)}\n\n${sumOf(events, load)}\n`);
    // The last token and the last values: a run has thousands of values.
    const hidden = [token.value(), ...Object.values(secrets), ...operations.personalValues.slice(-500)];
    const texts = writtenTexts(dir, topology);
    const { broken } = topology.loadBalancer;
    const input = { events, texts, secrets: hidden, kills, sent: load.sent, broken, slack: options.slack };
    return [...violationsOf(input), ...unrest];
  } finally {
    token.stop();
    await topology.stop();
  }
}

/** One line for people. */
function sumOf(events: readonly AnyEvent[], { sent }: ClusterLoad): string {
  const { applied, withoutMdm } = countUnacknowledged(events);
  const patches = sent.filter(({ kind, outcome }) => kind === 'PATCH' && outcome?.status === 200).length;
  return `${sent.length} requests, ${patches} PATCHes answered 200; ${applied} writes were applied whose clients were not told so, and MDM did not hear of ${withoutMdm} of them`;
}

async function readReferences(backEndsUrl: string): Promise<Map<string, string>> {
  const paths = [moviePath, termsPathOf('001'), termsPathOf('002')];
  const read = async (path: string) => (await call(`${backEndsUrl}${path.replace('/adaptor/', '/adaptors/')}`)).text;
  return new Map(await Promise.all(paths.map(async (path) => [path, await read(path)] as const)));
}

/** Engines that have just started are slow: each has to have answered in time, some times over. */
async function warmUp({ movie, terms, termsOf, put }: Operations): Promise<void> {
  for (let round = 0; round < 8; round++) {
    await pollUntil(
      'the cluster to serve',
      async () => {
        const outcomes = await Promise.all([movie(), terms(), termsOf('002'), put()]);
        return outcomes.every(({ status }) => status === 200);
      },
      { timeoutMs: 120_000, everyMs: 500 },
    );
  }
}

/** Waits until MDM has heard of every PATCH that succeeded and has the newest value of each person. */
async function untilAtRest(history: History, backEndsUrl: string): Promise<string[]> {
  let left: string[] = [];
  const look = async () => {
    const unheard = checkHistory({ events: history.read() }).filter(({ what }) => what.includes('did not hear'));
    left = [...unheard.map(({ subject, what }) => `${subject}: ${what}`), ...(await stalePersons(backEndsUrl))];
    return left.length === 0;
  };
  await pollUntil('everything to come to rest', look, { timeoutMs: restMs, everyMs: 2_000 }).catch(() => undefined);
  return left;
}

/** Logs of every process, those that run included. */
function writtenTexts(dir: string, { components }: Topology): WrittenText[] {
  const running = components.map(({ name, output }) => ({ name, text: output?.() ?? '' }));
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => /\.log(\.1)?$/.test(name));
  return [...running, ...files.map((name) => ({ name, text: readFileSync(join(dir, name), 'utf8') }))];
}
