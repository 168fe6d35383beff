// Tests that a cccid with characters that the engine cannot store, or would change, reaches MDM and the interested
// college unchanged.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineKind, type FaultEngine, startFaultEngine } from '../faults/engine.ts';
import { requires } from '../run/requirements.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const textsOn = (kind: EngineKind) => {
  let own: FaultEngine | undefined;
  let engineUrl: string;
  let stack: Stack;
  let demo: Caller;

  beforeAll(async () => {
    own = kind === 'postgresql' ? await startFaultEngine('postgresql') : undefined;
    engineUrl = own?.url ?? engineOfRun().url;
    stack = await shareStack({ engineUrl });
    demo = await callerFor(stack.url);
  });
  afterAll(async () => {
    await stack?.stop();
    await own?.stop();
  });

  const patch = (path: string, body: object) =>
    demo(`/adaptor/001/mock/${path}`, {
      method: 'PATCH',
      json: body,
    });
  const completed = async (name: string, source: string) => {
    const path = `workflow/${name}/correlated/${source}?includeClosed=true&includeTasks=true`;
    const found = (await call(`${engineUrl}/api/${path}`)).json<
      { status: string; tasks: { outputData: object }[] }[]
    >();
    return found.find(({ status }) => status === 'COMPLETED');
  };
  // The engine may take a minute to subscribe to the queue of a new handler.
  const untilCompleted = (name: string, source: string) =>
    pollUntil(`${name} to complete for ${source}`, () => completed(name, source));

  it.each([
    ['NUL', '\0'],
    ['an expression', '${workflow.input.requestId}'],
    ['an expression that is not closed', '${workflow.secrets.X'],
  ])('a cccid with %s: MDM is notified once, the college gets it, and no log contains it', async (_label, text) => {
    const secret = randomBytes(4).toString('hex').toUpperCase();
    const cccid = `${secret}${text}Z`;
    const answer = await patch('colleges/001/persons/0318204', { cccid });
    expect(answer.status).toBe(200);
    const source = String(answer.headers['x-execution-id']);
    await untilCompleted('mdm-shareWF', source);
    await untilCompleted('mdmWF', source);
    const there = await call(`${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/B00417733`);
    expect(there.json()).toMatchObject({ cccid });
    const log = (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${source}`)).json<object[]>();
    expect(log).toMatchObject([
      { kind: 'notification', cccid },
      { kind: 'share', cccid, status: 'shared' },
    ]);
    for (const program of [stack.router, ...stack.workers]) expect(program.output()).not.toContain(secret);
  });

  it('a PATCH that names no person: mdmWF completes with nothing to share, and MDM is not notified', async () => {
    const answer = await patch('faults/status/200', { anything: true });
    expect(answer.status).toBe(200);
    const source = String(answer.headers['x-execution-id']);
    const { tasks } = await untilCompleted('mdmWF', source);
    expect(tasks[0]?.outputData).toMatchObject({ reason: expect.stringContaining('nothing to share') });
    expect((await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${source}`)).json()).toEqual([]);
  });
};

describe('on SQLite', () => textsOn('sqlite'));
describe('on PostgreSQL', requires('full', 'postgresql'), () => textsOn('postgresql'));
