// Tests the example route on a real engine, started as `npm start` starts it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGateway, type TestGateway } from 'service-router/testing';

let gateway: TestGateway;

before(async () => {
  gateway = await startGateway();
});
after(() => gateway?.stop());

test('greets the name in the path', async () => {
  const response = await gateway.fetch('/hello/world');
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { hello: 'world' });
});

test('refuses a client without a token', async () => {
  const response = await fetch(`${gateway.url}/hello/world`);
  assert.equal(response.status, 401);
});
