// Tests of the pages for executions on an engine without a search index: the list says so, an execution is still found
// by its id, and no follow-up executions are expected.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineProperties } from '../../dev/engine/engine-arguments.ts';
import type { RunningEngine } from '../../dev/engine/start-engine.ts';
import { requires } from '../run/requirements.ts';
import { call, callerFor } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';
import { startPreparedEngine } from '../stack/prepared-engine.ts';
import { shareStack, type Stack } from '../stack/stack.ts';

describe.skipIf(process.env['CONDUCTOR_URL'] !== undefined)('an engine without an index', requires('full'), () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-no-index-'));
  let engine: RunningEngine;
  let stack: Stack;

  beforeAll(async () => {
    const properties = join(stateDir, 'no-index.properties');
    writeFileSync(properties, 'conductor.indexing.enabled=false\nconductor.indexing.type=none\n');
    const tuning = { properties: [engineProperties, properties] };
    engine = await startPreparedEngine({ port: await findFreePort(), stateDir, tuning, say: () => undefined });
    stack = await shareStack({ engineUrl: engine.url });
  });
  afterAll(async () => {
    await stack?.stop();
    await engine?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  const get = (path: string) => call(`${stack.operationsUrl}${path}`);

  it('is distinguished from an idle engine once this router has started an execution', async () => {
    const before = await get('/executions');
    expect([before.status, before.text]).toEqual([200, expect.stringContaining('Either none was started, or')]);
    const answer = await (await callerFor(stack.url))('/movies/Metropolis');
    const { status, text } = await get('/executions');
    expect([status, text]).toEqual([200, expect.stringContaining('This engine has no search index')]);
    const id = String(answer.headers['x-execution-id']);
    expect((await get(`/executions/find?id=${id}`)).headers['location']).toBe(`/executions/${id}`);
    expect((await get(`/executions/${id}`)).text).toContain('movies_intake');
  });

  it('does not show the follow-up executions of a PATCH as not started', async () => {
    const body = JSON.stringify({ cccid: 'ABZ9002' });
    const headers = { 'content-type': 'application/json' };
    const demo = await callerFor(stack.url);
    const patched = await demo('/adaptor/001/mock/colleges/001/persons/0318204', { method: 'PATCH', body, headers });
    expect(patched.status).toBe(200);
    const text = await pollUntil('the event', async () => {
      const page = await get(`/executions/${String(patched.headers['x-execution-id'])}`);
      return /<title>person_patched: EVENT, completed/.test(page.text) && page.text;
    });
    expect(text).not.toContain('not started');
  });
});
