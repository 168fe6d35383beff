// Tests of a gateway configuration with other names and paths: the links in responses are paths that the client may
// call.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { call, type Caller, callerFor, type RouterAnswer } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const dir = mkdtempSync(join(tmpdir(), 'service-router-names-'));
/** Task domain of this file; no worker of another file polls it. */
const domain = `names-${randomBytes(4).toString('hex')}`;

let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  const gatewayConfigFile = join(dir, 'gateway.config.yml');
  const shipped = readFileSync(new URL('../../gateway.config.yml', import.meta.url), 'utf8');
  writeFileSync(
    gatewayConfigFile,
    shipped
      .replaceAll('/conductor/api', '/engine/api')
      .replace('strip: /conductor', 'strip: /engine')
      .replaceAll(/^ {2}conductor:$/gm, '  engine:')
      .replace('apiEndpoints: [conductor]', 'apiEndpoints: [engine]')
      .replaceAll('/executions/:id/response', '/runs/:id/result')
      .replaceAll('/executions/:id', '/runs/:id'),
  );
  stack = await shareStack({
    engineUrl,
    withWorkers: false,
    router: {
      ROUTER_GATEWAYCONFIGFILE: gatewayConfigFile,
      ROUTER_RESPONSEDEADLINEMS: '1500',
      ADAPTOR_001_DOMAIN: domain,
      LOG_LEVEL: 'info',
    },
  });
  demo = await callerFor(stack.url);
});
afterAll(async () => {
  await stack?.stop();
  rmSync(dir, { recursive: true });
});

const patch = (prefer?: string) =>
  demo('/adaptor/001/mock/colleges/001/notes/0320991', {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', ...(prefer === undefined ? {} : { prefer }) },
    body: '{"cccid":"AAA1234"}',
  });

const linksOf = (id: string) => ({ self: `/runs/${id}`, response: `/runs/${id}/result` });
const idOf = ({ headers }: RouterAnswer) => String(headers['x-execution-id']);

it('Location and links of a deferred request use the configured paths, and lead to the execution', async () => {
  const accepted = await patch('respond-async');
  const id = idOf(accepted);
  expect(accepted.status).toBe(202);
  expect(accepted.headers['location']).toBe(`/runs/${id}`);
  expect(accepted.json()['links']).toEqual(linksOf(id));
  const status = await demo(`/runs/${id}`);
  expect(status.json()).toMatchObject({ id, state: 'running', links: linksOf(id) });
  const pending = await demo(`/runs/${id}/result`);
  expect([pending.status, pending.json()['links']]).toEqual([404, linksOf(id)]);
  expect((await demo(`/runs/${id}`, { method: 'DELETE' })).json()).toMatchObject({ state: 'cancelled' });
});

it('the 504 response to a write names the execution by a path that the client may call', async () => {
  const answer = await patch();
  const id = idOf(answer);
  expect([answer.status, answer.json()['type']]).toEqual([504, '/problems/wait-budget-spent']);
  const { execution, links } = answer.json();
  expect({ execution, links }).toEqual({ execution: `/runs/${id}`, links: linksOf(id) });
  expect((await demo(String(execution))).status).toBe(200);
  await demo(`/runs/${id}`, { method: 'DELETE' });
});

it("a worker's poll is not logged at level info, and is shown as held on the overview page", async () => {
  const worker = await callerFor(stack.url, 'worker');
  const id = `poll-${randomBytes(4).toString('hex')}`;
  const path = `/engine/api/tasks/poll/batch/movies_intake?timeout=100&domain=${domain}`;
  const polled = await worker(path, { headers: { 'x-request-id': id } });
  expect([polled.status, polled.json<Task[]>()]).toEqual([200, []]);
  const later = `later-${randomBytes(4).toString('hex')}`;
  await demo('/nowhere', { headers: { 'x-request-id': later } });
  await pollUntil('the line of a later request', () => stack.router.output().includes(later));
  expect(stack.router.output()).not.toContain(id);
  const page = (await call(`${stack.operationsUrl}/status`)).text;
  const row = page.split('<tr>').find((text) => text.includes('>engine</a>'));
  expect(row).toContain('>held</td>');
});
