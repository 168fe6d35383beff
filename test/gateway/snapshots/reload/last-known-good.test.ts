// Tests of a router that cannot fetch its remote property file: which copy it starts with, that it refuses a reload,
// and when it repeats the reload.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { pollUntil } from '../../../stack/poll-until.ts';
import { startProgram } from '../../../stack/program.ts';
import { type ReloadableRouter, startReloadableRouter } from './reloadable-router.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-copies-'));
let body: string | undefined = 'router.docs=false\n';
const server = createServer((_request, response) =>
  body === undefined ? response.writeHead(503).end() : response.end(body),
);
let env: Record<string, string>;
let router: ReloadableRouter;

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  env = {
    CONFIG_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/router.properties`,
    CONFIG_LASTKNOWNGOODDIR: dir,
    OAUTH_ISSUER: 'http://127.0.0.1:9',
  };
  router = await startReloadableRouter(env);
});
afterAll(async () => {
  await router?.stop();
  server.close();
  rmSync(dir, { recursive: true });
});

it('a reload is refused even if there is a copy, because the active configuration is at least as new', async () => {
  body = undefined;
  expect(await router.reload()).toBe('refused');
  expect(await router.notice()).toMatch(/router\.properties cannot be read: the server responded with 503$/);
  body = 'router.docs=false\n';
  expect(await router.reload()).toBe('applied');
});

it('starts with the copy from the first start when reloads of later versions were refused', async () => {
  body = 'router.prot=1\n';
  expect(await router.reload()).toBe('refused');
  body = undefined;
  const again = await startProgram('gateway/main.ts', {
    ...{ ...env, CONDUCTOR_URL: 'http://127.0.0.1:9', ROUTER_PORT: '0', OPS_PORT: '0', RECONCILER_INTERVALMS: '0' },
  });
  const docs = await fetch(`${String(again.ready['url'])}/docs`);
  await again.stop();
  expect(again.output()).toContain('the server responded with 503; its last known good copy is used');
  expect(docs.status).toBe(404);
});

it('reload.watchMs: a reload is repeated until the file can be fetched, and its problem is logged once', async () => {
  body = '';
  const watching = await startReloadableRouter({ ...env, RELOAD_WATCHMS: '20' });
  onTestFinished(() => watching.stop());
  const docs = async () => (await fetch(`${watching.url}/docs`)).status;
  expect(await docs()).toBe(200);
  body = undefined;
  expect(await watching.reload()).toBe('refused');
  const refused = async () => (await watching.counts())['router_config_reloads_total{result="refused"}'] ?? 0;
  await pollUntil('further attempts', async () => (await refused()) >= 3);
  body = 'router.docs=false\n';
  await pollUntil('the fetched file to take effect', async () => (await docs()) === 404);
  await pollUntil('the reload to be logged', () => watching.program.output().includes('configuration was reloaded'));
  expect(watching.program.output().match(/the configuration was refused/g)).toHaveLength(1);
});
