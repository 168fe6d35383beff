// Tests of the repetition of refused reloads, and of what repeated reloads log.

import { pino } from 'pino';
import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { GatewayHost } from '../../../../gateway/snapshots/gateway-host.ts';
import { Reloader } from '../../../../gateway/snapshots/reload/reloader.ts';

interface Line {
  readonly msg: string;
  readonly reason: string;
  readonly problems: readonly string[];
}

let config: Config;
let gatewayHost: GatewayHost;
let reloader: Reloader;
let lines: Line[];
let loads: number;
/** The error with which each load fails. */
let error: Error;
/** The signal of the last load. */
let signal: AbortSignal;

function createGatewayHost(): GatewayHost {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  return new GatewayHost({ config, log, metrics: new Registry(), tracer: undefined, reportError: () => undefined });
}

const outage = (...problems: string[]) => new ConfigError(problems, { isOutage: true });

beforeEach(async () => {
  config = (await loadConfig({ env: {} })).config;
  lines = [];
  loads = 0;
  gatewayHost = createGatewayHost();
  reloader = new Reloader({
    gatewayHost,
    started: { config } as never,
    loadConfig(aborts) {
      loads += 1;
      signal = aborts;
      return Promise.reject(error);
    },
    gatewayConfigFile: 'gateway.config.yml',
    rootDir: '.',
  });
});

const logged = () => lines.map(({ problems }) => problems);

it('repeats a reload that could not fetch a remote file, and logs each problem once', async () => {
  error = outage('a is down');
  await reloader.reload('SIGHUP');
  for (let round = 0; round < 3; round++) await reloader.repeatAfterOutage();
  expect(loads).toBe(4);
  expect(logged()).toEqual([['a is down']]);
  error = outage('a is down', 'b is down');
  await reloader.repeatAfterOutage();
  error = outage('a is down');
  await reloader.repeatAfterOutage();
  expect(loads).toBe(6);
  expect(logged()).toEqual([['a is down'], ['a is down', 'b is down']]);
});

it('logs known problems again for a reload that is not a repetition', async () => {
  error = outage('a is down');
  await reloader.reload('SIGHUP');
  await reloader.repeatAfterOutage();
  await reloader.reload('SIGHUP');
  expect(logged()).toEqual([['a is down'], ['a is down']]);
});

it('does not repeat a reload with other problems, not even after an outage', async () => {
  error = outage('a is down');
  await reloader.reload('SIGHUP');
  error = new ConfigError(['a is wrong']);
  for (let round = 0; round < 3; round++) await reloader.repeatAfterOutage();
  expect(loads).toBe(2);
  expect(logged()).toEqual([['a is down'], ['a is wrong']]);
});

it('does not repeat a reload while another reload runs', async () => {
  error = outage('a is down');
  await reloader.reload('SIGHUP');
  const running = reloader.reload('SIGHUP');
  await reloader.repeatAfterOutage();
  await running;
  expect(loads).toBe(2);
});

it('ends the attempt and the repetitions when the router stops', async () => {
  error = outage('a is down');
  await reloader.reload('SIGHUP');
  expect(signal.aborted).toBe(false);
  await gatewayHost.drain(0);
  expect(signal.aborted).toBe(true);
  for (let round = 0; round < 3; round++) await reloader.repeatAfterOutage();
  expect(loads).toBe(1);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'the configuration was refused: the previous one stays active',
    'the router is stopping: the configuration is not reloaded',
  ]);
});
