// Tests of how the router checks an engine: for the required API calls, without making them, and for the required event
// handlers.

import { expect, it } from 'vitest';
import type { EngineRequest, EngineResponse } from '#lib/conductor/engine.ts';
import { EngineNeeds } from '../../../plugins/conductor/engine-needs.ts';

const sync = '/api/tasks/none/none/COMPLETED/sync';

/** Returns an engine whose responses differ from those of a complete engine at these paths. */
function engineWith(differing: Record<string, Partial<EngineResponse>>) {
  const asked: string[] = [];
  const request = async ({ method, path }: EngineRequest): Promise<EngineResponse> => {
    asked.push(`${method} ${path}`);
    const whole = { status: 200, headers: { allow: 'GET,HEAD,POST,OPTIONS' }, body: Buffer.from('[]') };
    return { ...whole, ...differing[path] };
  };
  return { asked, request };
}
const version = (text: string) => ({ '/api/version': { body: Buffer.from(text) } });
const handlers = (...list: { name: string; active: boolean }[]) => ({
  '/api/event': { body: Buffer.from(JSON.stringify(list)) },
});

it('an engine with every call → nothing is missing, and each call is checked once', async () => {
  const engine = engineWith({});
  const needs = new EngineNeeds(engine, () => []);
  expect([await needs.missingCalls(), await needs.missingCalls()]).toEqual([[], []]);
  expect(engine.asked).toHaveLength(5);
  expect(engine.asked.every((call) => call.startsWith('OPTIONS '))).toBe(true);
});

it.each([
  ['has no such path', { status: 404 }],
  ['has the path for another method', { headers: { allow: 'GET,HEAD,OPTIONS' } }],
])('an engine that %s → reports the missing call and the version of the engine', async (_title, response) => {
  const needs = new EngineNeeds(engineWith({ [sync]: response, ...version('3.13.8') }), () => []);
  expect(await needs.missingCalls()).toEqual([
    'the engine at conductor.url (Conductor 3.13.8) does not support POST /api/tasks/{workflowId}/{taskRefName}/{status}/sync: the router needs Conductor 3.32 or newer',
  ]);
});

it.each([
  ['refuses OPTIONS', { status: 405 }],
  ['forbids the check', { status: 403 }],
  ['names no methods', { headers: {} }],
])('an engine behind a proxy that %s → nothing is reported as missing', async (_title, response) => {
  expect(await new EngineNeeds(engineWith({ [sync]: response }), () => []).missingCalls()).toEqual([]);
});

it('event handlers that are not registered or not active → reported until all are registered and active', async () => {
  const wanted = ['a', 'b', 'c'].map((name) => ({ name, active: true }));
  const answers = { ...handlers({ name: 'a', active: true }, { name: 'b', active: false }) };
  const engine = engineWith(answers);
  const needs = new EngineNeeds(engine, () => [...wanted, { name: 'off', active: false }]);
  const reasons = [
    expect.stringContaining('event handler b is not active'),
    expect.stringContaining('event handler c is not registered'),
  ];
  expect([await needs.askForHandlers(), needs.missingHandlers]).toEqual([reasons, reasons]);
  Object.assign(answers, handlers(...wanted));
  expect([await needs.askForHandlers(), needs.missingHandlers]).toEqual([[], []]);
});

it('event handlers that are all active → not queried again', async () => {
  const wanted = [{ name: 'a', active: true }];
  const engine = engineWith(handlers(...wanted));
  const needs = new EngineNeeds(engine, () => wanted);
  await needs.askForHandlers();
  await needs.askForHandlers();
  expect(engine.asked).toHaveLength(1);
});
