// Tests of a router process whose policy causes an unhandled rejection or has a listener that throws: the process
// drains, and requests in flight get their responses.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-stray-'));
const contract = fileURLToPath(new URL('../../gateway/plugin-api/plugin-api.ts', import.meta.url));

/** A plugin whose policy `slow` responds once `answer` has been sent as an IPC message. */
const plugin = `
import { declarePolicy, definePolicy } from ${JSON.stringify(contract)};
const answers = new Promise((resolve) => process.on('message', resolve));
const handlers = {
  async slow(request, response) {
    console.log('slow request');
    response.end(String(await answers));
  },
  broken(request, response) {
    response.on('close', () => {
      throw new Error('broken listener');
    });
    console.log('broken request');
  },
  stray(request, response) {
    void Promise.reject(new Error('stray'));
    response.end('strayed');
  },
};
const declared = Object.keys(handlers).map((name) => declarePolicy({ name, schema: { type: 'object' } }));
export const version = '1.0.0';
export const policies = declared;
export function init({ registerPolicy }) {
  for (const one of declared) registerPolicy(definePolicy(one, { create: () => handlers[one.name] }));
}
`;

const map = `
http: { hostname: 127.0.0.1, port: '\${router.port}' }
apiEndpoints: { slow: { paths: /slow }, broken: { paths: /broken }, stray: { paths: /stray } }
plugins: { strays: { package: ${join(dir, 'plugin.ts')} } }
policies: [slow, broken, stray]
pipelines:
  slow: { apiEndpoints: [slow], policies: [{ slow: [] }] }
  broken: { apiEndpoints: [broken], policies: [{ broken: [] }] }
  stray: { apiEndpoints: [stray], policies: [{ stray: [] }] }
`;

let router: Program | undefined;
beforeAll(() => {
  writeFileSync(join(dir, 'plugin.ts'), plugin);
  writeFileSync(join(dir, 'map.yml'), map);
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
});
afterEach(() => router?.kill());
afterAll(() => rmSync(dir, { recursive: true }));

/** Starts the router with a request in flight. */
async function startWithRequest(env: Record<string, string> = {}) {
  router = await startProgram('gateway/main.ts', {
    ...{ OAUTH_ISSUER: 'http://127.0.0.1:9', CONDUCTOR_URL: 'http://127.0.0.1:9', RECONCILER_INTERVALMS: '0' },
    ...{ ROUTER_PORT: '0', OPS_PORT: '0', ROUTER_GATEWAYCONFIGFILE: join(dir, 'map.yml'), ...env },
  });
  const { process: child, ready, output } = router;
  const ended = once(child, 'close');
  const answer = fetch(`${ready['url']}/slow`).then(
    (response) => response.text(),
    () => 'cut off',
  );
  await pollUntil('the request to arrive', () => output().includes('slow request'));
  const stray = () => fetch(`${ready['url']}/stray`).then((response) => response.text());
  const readiness = async () => (await fetch(`${ready['operationsUrl']}/health/ready`)).json();
  return { child, output, ended, answer, stray, readiness, url: String(ready['url']) };
}

it('responds to the request in flight, is not ready meanwhile, and exits with 1', async () => {
  const { child, output, ended, answer, stray, readiness } = await startWithRequest();
  await stray().catch(() => undefined);
  await pollUntil('the drain', () => output().includes('"stopping"'));
  expect(await readiness()).toMatchObject({ status: 'not ready', reasons: { router: ['shutting down'] } });
  child.send('answer');
  expect(await answer).toBe('answer');
  expect(await ended).toEqual([1, null]);
  expect(output()).toMatch(/"level":"fatal".*"error":"stray"/);
});

it('a request that never ends is cut off after router.drainMs', async () => {
  const { output, ended, answer, stray } = await startWithRequest({ ROUTER_DRAINMS: '300' });
  await stray().catch(() => undefined);
  expect(await answer).toBe('cut off');
  expect(await ended).toEqual([1, null]);
  expect(output()).toContain('"stopping"');
  expect(output()).toMatch(/"status":504.*"response cut off"/);
});

it('a listener that throws when its response closes does not hold up the stop', async () => {
  const { child, output, ended, url } = await startWithRequest({ ROUTER_DRAINMS: '300' });
  void fetch(`${url}/broken`).catch(() => undefined);
  await pollUntil('the second request to arrive', () => output().includes('broken request'));
  child.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
  expect(output()).toContain('broken listener');
  expect(output()).not.toContain('graceful stop failed');
});
