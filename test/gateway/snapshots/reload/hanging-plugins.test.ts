// Tests of plugins that hang while their configuration is loaded or stopped.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { buildSnapshot } from '../../../../gateway/snapshots/build-snapshot.ts';
import { GatewayHost } from '../../../../gateway/snapshots/gateway-host.ts';
import { Reloader } from '../../../../gateway/snapshots/reload/reloader.ts';

/** For `vi.waitUntil`, which uses real timers; its default of one second is too short on a busy machine. */
const deadline = { timeout: 120_000 };

interface Line {
  readonly msg: string;
  readonly name: string;
  readonly error: string;
  readonly problems: readonly string[];
}

/** Source of the plugin. The plugin hangs where its settings say, and records what it did in `globalThis.plugin`. */
const source = `
const { hang, events } = globalThis.plugin;
TOP
export const version = '1.0.0';
export const policies = [];
export async function init({ settings: { hangsIn }, services }) {
  if (hangsIn === 'activation') services.addActivationCheck('slow', hang);
  if (hangsIn === 'stop') {
    services.onStop('slow', () => {
      events.push('stopping');
      return hang();
    });
    await hang();
  }
  if (hangsIn !== 'init') return;
  services.share('early', [], ({ onStop }) => onStop('early', () => void events.push('early resource stopped')));
  await hang();
  services.onStop('late', () => void events.push('late stop'));
  try {
    services.share('late', [], () => events.push('late resource'));
  } catch (error) {
    events.push(error.message);
  }
  events.push('init ended');
}
`;

/** Returns a reloader of a gateway that has the plugin, but no active configuration yet. Timers are fake. */
async function setUp() {
  const rootDir = mkdtempSync(join(tmpdir(), 'service-router-hanging-'));
  onTestFinished(() => rmSync(rootDir, { recursive: true }));
  const write = (file: string, text: string) => writeFileSync(join(rootDir, file), text);
  const http = { hostname: '127.0.0.1', port: 0 };
  /** Writes a gateway configuration that loads the plugin from `file`. */
  const configure = (file: string, hangsIn: string) => {
    const map = {
      http,
      apiEndpoints: { page: { paths: '/page' } },
      plugins: {
        slow: { package: `./${file}.ts`, hangsIn },
        docs: { package: 'service-router/plugins/api-docs' },
      },
      policies: ['problem-pages'],
      pipelines: { page: { apiEndpoints: ['page'], policies: [{ 'problem-pages': null }] } },
    };
    write('gateway.config.yml', JSON.stringify(map, null, 2));
  };
  for (const folder of ['workflows/tasks', 'event-handlers']) mkdirSync(join(rootDir, folder), { recursive: true });
  write('package.json', '{"type":"module"}');
  write('sound.ts', source.replace('TOP', ''));
  write('hanging.ts', source.replace('TOP', 'await hang();'));

  const { config } = await loadConfig({ env: {} });
  const lines: Line[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  const host = new GatewayHost({
    ...{ config, log, metrics: new Registry(), tracer: undefined, reportError: () => undefined },
  });
  const gatewayConfigFile = join(rootDir, 'gateway.config.yml');
  const reloader = new Reloader({
    gatewayHost: host,
    started: { config, gateway: { gatewayConfig: { http } } } as never,
    loadConfig: () => Promise.resolve({ config, warnings: [], keepCopies: () => undefined }),
    gatewayConfigFile,
    rootDir,
  });
  /** Builds a snapshot, as the start of a router does. */
  const build = () => {
    const { services: hostServices, sharedResources, knownFiles } = host;
    return buildSnapshot({ config, gatewayConfigFile, rootDir, hostServices, sharedResources, knownFiles });
  };

  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const events: string[] = [];
  const hung = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const hang = () => {
    hung.resolve();
    return released.promise;
  };
  vi.stubGlobal('plugin', { hang, events });
  onTestFinished(() => void vi.unstubAllGlobals());
  return { host, reloader, build, configure, write, lines, events, hung: hung.promise, release: released.resolve };
}

it.each([
  [
    'code',
    /^gateway\.config\.yml:\d+:\d+: plugins\.slow: .*hanging\.ts cannot be loaded: the import of its code did not finish within 60 s$/,
  ],
  ['init', /^plugins\.slow: init did not finish within 60 s$/],
  ['activation', /^slow: the activation check did not finish within 60 s$/],
])('refuses a configuration with a plugin that hangs in its %s, and then reloads again', async (hangsIn, problem) => {
  const { host, reloader, configure, lines, hung } = await setUp();
  onTestFinished(() => host.stop());
  configure(hangsIn === 'code' ? 'hanging' : 'sound', hangsIn);
  const reload = reloader.reload('SIGHUP');
  await hung;
  await vi.advanceTimersByTimeAsync(60_000);
  await reload;
  expect(lines.map(({ problems }) => problems)).toEqual([[expect.stringMatching(problem)]]);
  configure('sound', 'nothing');
  await reloader.reload('SIGHUP');
  expect(lines.at(-1)?.msg).toBe('the configuration was reloaded');
});

it('refuses a configuration with a plugin whose init and stop hang; the log names the stop function', async () => {
  const { host, reloader, configure, lines, events, hung } = await setUp();
  onTestFinished(() => host.stop());
  configure('sound', 'stop');
  const reload = reloader.reload('SIGHUP');
  await hung;
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitUntil(() => events.includes('stopping'), deadline);
  await vi.advanceTimersByTimeAsync(60_000);
  await reload;
  expect(lines).toMatchObject([
    { msg: 'did not stop cleanly', name: 'slow', error: 'the stop function did not finish within 60 s' },
    { problems: ['plugins.slow: init did not finish within 60 s'] },
  ]);
  configure('sound', 'nothing');
  await reloader.reload('SIGHUP');
  expect(lines.at(-1)?.msg).toBe('the configuration was reloaded');
});

it('an init that ends after its deadline creates no resource, and its stop functions run at once', async () => {
  const { host, reloader, configure, events, hung, release } = await setUp();
  configure('sound', 'init');
  const reload = reloader.reload('SIGHUP');
  await hung;
  await vi.advanceTimersByTimeAsync(60_000);
  await reload;
  expect(events).toEqual(['early resource stopped']);
  release();
  await vi.waitUntil(() => events.includes('init ended'), deadline);
  expect(events.slice(1)).toEqual(['late stop', 'this configuration has been stopped', 'init ended']);
  expect(host.sharedResources.size).toBe(0);
});

it('stopping the gateway host stops the resources of a hanging reload, and the reload can create no more', async () => {
  const { host, reloader, configure, events, hung, release } = await setUp();
  configure('sound', 'init');
  const reload = reloader.reload('SIGHUP');
  await hung;
  await host.drain(0);
  await host.stop();
  expect(events).toEqual(['early resource stopped']);
  release();
  await reload;
  expect(events.slice(1)).toEqual(['the router has stopped', 'init ended', 'late stop']);
});

it('a start waits for an init that takes longer than the deadline of a reload', async () => {
  const { host, build, configure, events, hung, release } = await setUp();
  configure('sound', 'init');
  const built = build();
  await hung;
  await vi.advanceTimersByTimeAsync(600_000);
  release();
  host.activate(await built);
  expect(events).toEqual(['late resource', 'init ended']);
  await host.stop();
  expect(events.slice(2)).toEqual(['late stop', 'early resource stopped']);
});

it('a plugin whose code hung and was corrected: the problem says that the router must be restarted', async () => {
  const { host, reloader, configure, write, lines, hung } = await setUp();
  onTestFinished(() => host.stop());
  configure('hanging', 'nothing');
  // Not vi.spyOn: Vitest restores its spies again after the file, which would install the fake timers for other files.
  const { setTimeout: setTimer } = globalThis;
  const started: (number | undefined)[] = [];
  const record = (run: () => void, ms?: number) => (started.push(ms), setTimer(run, ms));
  vi.stubGlobal('setTimeout', record);
  for (const expected of [/within 60 s$/, /within 60 s; if this has been corrected, restart the router: /]) {
    // Counting active timers would not show that the 60-second timer has started: others may end meanwhile.
    started.length = 0;
    const reload = reloader.reload('SIGHUP');
    await vi.waitUntil(() => started.includes(60_000), deadline);
    // Waits until the import has read the file; otherwise, it would read the corrected file.
    await hung;
    await vi.advanceTimersByTimeAsync(60_000);
    await reload;
    expect(lines.at(-1)?.problems).toEqual([expect.stringMatching(expected)]);
    write('hanging.ts', source.replace('TOP', ''));
  }
});
