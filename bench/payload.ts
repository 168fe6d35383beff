// npm run bench:payload: measures the cost of encrypting payloads, by sending the same GET alternately without
// encryption and with payload.key, on one engine.

import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { readPayloadKeys } from '#lib/envelope/encryption/payload-keys.ts';
import { runClosedLoop } from './measure/closed-loop.ts';
import { type Figures, figuresOf, middleOf } from './measure/figures.ts';
import { machineTime, machineTimeSince } from './measure/machine-time.ts';
import { difference, processorMs } from './measure/processes.ts';
import { engineChoiceOf, engineFlags, engineFlagsHelp, engineName, positive } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { type BenchEngine, startBenchEngine } from './programs/engine.ts';
import { moviePath as path, startStack } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable, readable } from './report/tables.ts';
import { type Run, runBench } from './run.ts';
import { HttpClient } from './targets/http-client.ts';

const help = `Usage: npm run bench:payload [-- options]

Measures the movies route, alternately without encryption and with payload.key; then measures the codec alone, with
bodies of several sizes.

  --in-flight 8            clients of the closed loop
  --seconds 8              length of one measurement, after a warm-up of half of it
  --repetitions 3          measurements of the route without payload.key, and as many with it
${engineFlagsHelp}`;

const key = `bench:${randomBytes(32).toString('base64')}`;

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        'in-flight': { type: 'string', default: '8' },
        seconds: { type: 'string', default: '8' },
        repetitions: { type: 'string', default: '3' },
        ...engineFlags,
      },
    });
    if (values.help) return run.say(help);
    const load = { inFlight: positive('in-flight', values['in-flight']), seconds: positive('seconds', values.seconds) };
    run.say(describeCircumstances(await lookAround(engineName(values))));
    const engine = await startBenchEngine(run, engineChoiceOf(values));
    const backEnd = await startBackEnd(run);
    const seen: Record<'unencrypted' | 'encrypted', Figures[]> = { unencrypted: [], encrypted: [] };
    // The engine's JIT compiler is busy during the first thousand requests, which would distort the first measurement.
    await measureStack(run, { engine, backEndUrl: backEnd.url, encrypted: false, load });
    for (let repetition = 0; repetition < positive('repetitions', values.repetitions); repetition++) {
      for (const name of ['unencrypted', 'encrypted'] as const) {
        run.step(`${name}, repetition ${repetition + 1}`);
        seen[name].push(
          await measureStack(run, { engine, backEndUrl: backEnd.url, encrypted: name === 'encrypted', load }),
        );
      }
    }
    run.say(routeTable(seen));
    run.say(codecTable());
  }),
);

interface Measured {
  readonly engine: BenchEngine;
  readonly backEndUrl: string;
  readonly encrypted: boolean;
  readonly load: { readonly inFlight: number; readonly seconds: number };
}

/** Measures one stack. Only one may run at a time, because the workers of two stacks would take each other's tasks. */
async function measureStack(run: Run, { engine, backEndUrl, encrypted, load }: Measured): Promise<Figures> {
  const stops: (() => unknown)[] = [];
  const own: Run = { ...run, onEnd: (stop) => stops.unshift(stop) };
  if (encrypted) process.env['PAYLOAD_KEY'] = key;
  else delete process.env['PAYLOAD_KEY'];
  try {
    const stack = await startStack(own, { engine, backEndUrl });
    const client = new HttpClient(stack.url, load.inFlight);
    own.onEnd(() => client.close());
    const call = { path, headers: { authorization: `Bearer ${stack.token}` } };
    const request = () => client.text(call);
    await runClosedLoop({ inFlight: load.inFlight, seconds: load.seconds / 2, request });
    const processes = { router: [stack.pid], workers: [stack.workers.pid], ...(await engine.processes()) };
    const machineBefore = machineTime();
    const before = processorMs(processes);
    const sample = await runClosedLoop({ ...load, request });
    const used = difference(before, processorMs(processes));
    return figuresOf(sample, { processorMs: used, machine: machineTimeSince(machineBefore) });
  } finally {
    for (const stop of stops) await stop();
  }
}

function routeTable(seen: Readonly<Record<string, readonly Figures[]>>): string {
  const rows = Object.entries(seen).map(([name, repetitions]) => {
    const { requestsPerSecond, p50, p99, failures, processorMs: used } = middleOf(repetitions);
    const each = ['router', 'workers', 'engine'].map((program) => readable(used[program] ?? 0));
    return [name, readable(requestsPerSecond), readable(p50), readable(p99), ...each, String(failures)];
  });
  const head = ['payloads', 'requests/s', 'p50 ms', 'p99 ms', 'router ms', 'workers ms', 'engine ms', 'failures'];
  return markdownTable([head, ...rows]);
}

/**
 * Returns a table of the time that one process needs to pack a message, as a worker does, and to unpack it, as the
 * router does.
 */
function codecTable(): string {
  const codecs = [undefined, key].map(
    (one) => new PayloadCodec(readPayloadKeys({ 'payload.key': one, 'payload.decryptionKeys': [] })),
  );
  const rows = [320, 32_768, 262_144, 8_388_608].map((bytes) => {
    const body = Buffer.from(randomBytes(bytes).toString('hex').slice(0, bytes));
    return [String(bytes), ...codecs.map((codec) => readable(microseconds(codec, body)))];
  });
  return markdownTable([['body size, bytes', 'unencrypted, µs', 'encrypted, µs'], ...rows]);
}

function microseconds(codec: PayloadCodec, body: Buffer): number {
  const of = { inbound: { sealed: '' }, executionId: 'execution' };
  const once = () => {
    const packed = JSON.stringify(codec.packOutbound({ status: 200, headers: { etag: '"1"' }, body }, of));
    codec.unpackOutbound(JSON.parse(packed), of.executionId);
  };
  const times = Math.max(5, Math.min(5_000, Math.round(20_000_000 / body.length)));
  for (let warmUp = 0; warmUp < times / 5; warmUp++) once();
  const startedAt = performance.now();
  for (let done = 0; done < times; done++) once();
  return ((performance.now() - startedAt) * 1_000) / times;
}
