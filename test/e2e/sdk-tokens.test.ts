// Tests that workers on Conductor's stock SDKs keep serving their route when their access token expires.

import { orkesConductorClient, TaskHandler } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findJdk, startJavaWorker } from '../java-sdk/java-sdk.ts';
import { call } from '../stack/client.ts';
import { readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

/** Lifetime of a token in seconds. */
const lifetime = 3;
const key = { keyId: 'worker', keySecret: 'worker-secret' };
let stack: Stack;

beforeAll(async () => {
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    withWorkers: false,
    // The workers in this file return responses that the OpenAPI document does not describe.
    anyAnswer: true,
    identityProvider: { IDP_TOKEN_SECONDS: String(lifetime) },
    router: { OAUTH_CLOCKTOLERANCESECONDS: '0', ROUTER_RESPONSEDEADLINEMS: '5000' },
  });
});
afterAll(() => stack?.stop());

/** Gets a token directly from the identity provider, so that the router counts only the worker's token requests. */
async function clientToken(): Promise<string> {
  const answer = await call(`${stack.issuer}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials&client_id=demo&client_secret=demo-secret',
  });
  return answer.json<{ access_token: string }>().access_token;
}

async function tokensIssued(): Promise<number> {
  return (await readCounts(stack.operationsUrl))['router_token_requests_total{result="issued"}'] ?? 0;
}

/** Calls the route repeatedly until the worker has fetched its fourth token; every response must be 200. */
async function expectServedForThreeLifetimes(path: string, before: number): Promise<void> {
  await pollUntil(
    'the fourth token of the worker',
    async () => {
      const answer = await call(`${stack.url}${path}`, { headers: { authorization: `Bearer ${await clientToken()}` } });
      expect([answer.status, answer.text]).toEqual([200, 'served']);
      return (await tokensIssued()) - before >= 4;
    },
    { timeoutMs: 10_000 + 4 * lifetime * 1_000, everyMs: 200 },
  );
}

describe('a worker whose access token expires keeps serving its route', () => {
  it('on the stock JavaScript SDK', async () => {
    const before = await tokensIssued();
    const client = await orkesConductorClient({ serverUrl: `${stack.url}/conductor/api`, ...key });
    const execute = async () => ({
      status: 'COMPLETED',
      outputData: { outbound: { statusCodeValue: 200, headers: {}, body: 'served' } },
    });
    const handler = new TaskHandler({
      client,
      workers: [{ taskDefName: 'lms-dw_intake', concurrency: 2, pollInterval: 50, execute }],
      scanForDecorated: false,
    } as unknown as ConstructorParameters<typeof TaskHandler>[0]);
    await handler.startWorkers();
    try {
      await expectServedForThreeLifetimes('/lmsDW/001/dataSync/', before);
    } finally {
      await handler.stopWorkers();
    }
  });

  it('on the stock Java SDK', { ...requires('full'), timeout: 180_000 }, async ({ skip }) => {
    const java = await findJdk();
    if (typeof java === 'string') {
      return skip(java);
    }
    const before = await tokensIssued();
    const options = { serverUrl: `${stack.url}/conductor/api`, ...key, taskType: 'movies_intake' };
    const worker = await startJavaWorker(java, options);
    try {
      await expectServedForThreeLifetimes('/movies/Metropolis', before);
    } finally {
      await worker.stop();
    }
  });
});
