// npm run bench:events: measures how much longer a PATCH with its event takes than a GET, and how soon MDM is notified.

import { parseArgs } from 'node:util';
import { pollUntil } from '../test/stack/poll-until.ts';
import { percentile } from './measure/figures.ts';
import { engineChoiceOf, engineFlags, engineFlagsHelp, engineName, positive } from './options.ts';
import { startBenchEngine } from './programs/engine.ts';
import { type RouterEngine, startOwn, startRouter } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable, readable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';

const help = `Usage: npm run bench:events [-- options]

Alternates GET and PATCH of a person at a college adaptor, one request at a time, through the whole stack; also
measures the time between the response to a PATCH and the entry of this PATCH in MDM's governance log.

  --requests 200           number of requests of each method
${engineFlagsHelp}`;

/** Deadline for the first event, in milliseconds: a new engine can take a minute to begin to listen for an event. */
const firstEventMs = 90_000;

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({ options: { requests: { type: 'string', default: '200' }, ...engineFlags } });
    if (values.help) return run.say(help);
    const requests = positive('requests', values.requests);
    const circumstances = await lookAround(engineName(values));
    run.say(describeCircumstances(circumstances));
    const engine = await startBenchEngine(run, engineChoiceOf(values));
    const college = await startCollege(run, engine);
    run.step('waiting for the first event');
    await college.notified((await college.patch(0)).executionId, firstEventMs);
    const latencies = { GET: [] as number[], PATCH: [] as number[], notified: [] as number[] };
    for (let n = 1; n <= requests; n++) {
      if (n % 20 === 0) run.step(`${n} of ${requests}`);
      latencies.GET.push(await college.get());
      const { ms, executionId } = await college.patch(n);
      latencies.PATCH.push(ms);
      latencies.notified.push(await college.notified(executionId));
    }
    const rows = Object.entries(latencies).map(([what, values]) => {
      const ascending = values.toSorted((a, b) => a - b);
      return { what, p50: percentile(ascending, 50), p90: percentile(ascending, 90), p99: percentile(ascending, 99) };
    });
    const ratio = (rows[1]?.p50 ?? Number.NaN) / (rows[0]?.p50 ?? Number.NaN);
    const cells = rows.map(({ what, ...ms }) => [what, ...Object.values(ms).map(readable)]);
    run.say(markdownTable([['', 'p50 ms', 'p90 ms', 'p99 ms'], ...cells]));
    run.say(`\nPATCH / GET: ${readable(ratio)}`);
    run.say(writeJson(`${values.name ?? 'events'}.json`, { ...circumstances, requests, ratio, rows }));
  }),
);

/** Starts the stack with one college's adaptor and MDM, and returns the calls that a client makes. */
async function startCollege(run: Run, engine: RouterEngine) {
  run.step('starting back ends, router and workers');
  const backEnds = await startOwn(run, 'back-ends', { BACKENDS_PORT: '0' });
  const base = String(backEnds.ready['url']);
  const router = await startRouter(run, engine);
  await startOwn(run, 'workers', {
    CONDUCTOR_APIURL: `${router.url}/conductor/api`,
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: 'worker-secret',
    WORKERS_TASKTYPES: 'college-adaptor_intake,mdm_notify',
    ADAPTOR_001_URL: `${base}/adaptors/001`,
    MDM_URL: `${base}/mdm`,
  });
  const authorization = `Bearer ${await router.tokenOf('demo')}`;
  const persons = `${router.url}/adaptor/001/mock/colleges/001/persons`;
  const listed = await fetch(persons, { headers: { authorization } });
  const [person] = (await listed.json()) as { sisPersonId: string }[];
  if (person === undefined) throw new Error('the adaptor lists no person');
  const url = `${persons}/${encodeURIComponent(person.sisPersonId)}`;

  const timed = async (init: RequestInit) => {
    const startedAt = performance.now();
    const response = await fetch(url, { ...init, headers: { authorization, 'content-type': 'application/json' } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${init.method} ${url}: ${response.status}`);
    return { ms: performance.now() - startedAt, executionId: String(response.headers.get('x-execution-id')) };
  };
  return {
    get: async () => (await timed({ method: 'GET' })).ms,
    patch: (n: number) =>
      timed({ method: 'PATCH', body: JSON.stringify({ cccid: `BEN${String(n).padStart(4, '0')}` }) }),
    /** Waits until MDM has logged the PATCH of an execution, and returns the length of the wait in milliseconds. */
    notified: async (executionId: string, timeoutMs = 30_000) => {
      const startedAt = performance.now();
      const log = `${base}/mdm/governance-log?executionId=${executionId}`;
      const isLogged = async () => ((await (await fetch(log)).json()) as unknown[]).length > 0;
      await pollUntil(`MDM to log the PATCH of ${executionId}`, isLogged, { timeoutMs, everyMs: 5 });
      return performance.now() - startedAt;
    },
  };
}
