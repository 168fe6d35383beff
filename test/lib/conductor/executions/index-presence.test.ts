// Tests of detecting whether an engine has an index of executions.

import { expect, it } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';

const refusal = { status: 400, body: { message: 'Incorrectly formatted query string: indexed' } };
const nothing = { status: 200, body: { totalHits: 0, results: [] } };

/** Returns an engine that gives this response to a malformed query. */
function engineThatSays(malformed: { status: number; body: object } | EngineError): {
  call: SendRequest;
  asked: number;
} {
  const engine = {
    asked: 0,
    async call() {
      engine.asked += 1;
      if (malformed instanceof EngineError) throw malformed;
      const { status, body } = malformed;
      return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) };
    },
  };
  return engine;
}

it.each([
  ['an SQL index refuses it', refusal, true],
  ['Elasticsearch fails to parse it', { status: 500, body: { message: 'parse error' } }, true],
  ['an engine without an index finds nothing', nothing, false],
  ['an index finds executions with it', { status: 200, body: { totalHits: 3, results: [] } }, true],
])('a malformed query: %s', async (_title, response, hasIndex) => {
  const engine = engineThatSays(response);
  const presence = new IndexPresence(engine.call);
  expect(presence.known).toBeUndefined();
  expect([await presence.exists(), await presence.exists(), presence.known]).toEqual([hasIndex, hasIndex, hasIndex]);
  expect(engine.asked).toBe(1);
});

it.each([
  ['a proxy whose engine is unavailable', { status: 503, body: {} }],
  ['another service', { status: 200, body: { hello: 1 } }],
  ['nobody', new EngineError('unreachable', 'ECONNREFUSED')],
])('%s responds: the result is unknown, and the engine is queried again at the next call', async (_title, response) => {
  const engine = engineThatSays(response);
  const presence = new IndexPresence(engine.call);
  for (const asked of [1, 2]) {
    await expect(presence.exists()).rejects.toThrow(EngineError);
    expect(engine.asked).toBe(asked);
  }
  expect(presence.known).toBeUndefined();
});
