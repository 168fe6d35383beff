// Starts workers in this process with a fake router, for tests that observe both sides.

import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { createInbound, type InboundRequest } from '#lib/envelope/inbound.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { joinFields } from '../../workers/json-text.ts';
import { selectWorkers } from '../../workers/select-workers.ts';
import { startWorkers, type StartWorkersOptions } from '../../workers/start-workers.ts';
import type { TaskOutcome } from '../../workers/worker.ts';
import { FakeRouter } from './fake-router.ts';

/** Number of task types that workers without a domain run. */
export const defaultTaskTypes = selectWorkers(await configOf({})).length;

/** Returns a configuration with the given values and defaults for all other keys. */
export async function configOf(values: Record<string, string | number>): Promise<Config> {
  const env = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
  return (await loadConfig({ env })).config;
}

/** Returns a logger that records its lines. */
export function recordingLog(): { log: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const sink = new PassThrough();
  sink.on('data', (line: Buffer) => lines.push(JSON.parse(line.toString('utf8')) as Record<string, unknown>));
  return { log: pino({ level: 'debug' }, sink), lines };
}

/** Returns a task input whose `inbound` is as the router creates it. */
export function inboundOf(request: Partial<InboundRequest> = {}): Record<string, unknown> {
  const inbound = createInbound({
    httpMethod: 'GET',
    path: '/',
    query: undefined,
    params: {},
    headers: {},
    requestId: 'req-1',
    clientId: 'demo',
    route: 'test',
    body: Buffer.alloc(0),
    ...request,
  });
  return { inbound };
}

/** Returns the outcome of a supervised worker as the router receives it. */
export function receivedOutcome<Outcome extends TaskOutcome>(outcome: Outcome): Outcome {
  const { outputData } = outcome;
  if (outputData === undefined) return outcome;
  return { ...outcome, outputData: JSON.parse(joinFields(outputData)) as Record<string, unknown> };
}

/** Starts a fake router and workers that poll it. */
export async function startedWorkers(
  values: Record<string, string | number> = {},
  { router, ...options }: { router?: FakeRouter } & Pick<StartWorkersOptions, 'workers' | 'reportError'> = {},
) {
  const parking = router ?? (await new FakeRouter().start());
  const config = await configOf({
    'conductor.apiURL': parking.apiURL,
    'workers.clientId': 'worker',
    'workers.clientSecret': 'worker-secret',
    'workers.pollTimeoutMs': 150,
    ...values,
  });
  const { log, lines } = recordingLog();
  const program = await startWorkers({ config, log, ...options });
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopped ??= program.stop();
    await stopped;
    await parking.stop();
  };
  return { router: parking, program: { ...program, stop: () => (stopped ??= program.stop()) }, lines, stop };
}

export type StartedWorkers = Awaited<ReturnType<typeof startedWorkers>>;
