// Tests that every operation in /openapi.json, called on a complete stack with the document's examples, responds as
// described.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument, Operation, Parameter } from '#lib/openapi/openapi.ts';
import { call, type CallOptions, checkAnswersOf, tokenOf } from '../stack/client.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { stopIdle } from '../stack/stack-part.ts';
import { engineOfRun } from './engine-of-run.ts';

interface Step {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const backEndsDir = mkdtempSync(join(tmpdir(), 'service-router-contract-'));
let stack: Stack;
let document: OpenApiDocument;
let steps: Step[];
let operationOf: Awaited<ReturnType<typeof checkAnswersOf>>['operationOf'];
const tokens = new Map<string, string>();

beforeAll(async () => {
  // Separate data, because the examples remove persons that other test files use.
  stack = await shareStack({ engineUrl: engineOfRun().url, backEnds: { STATE_DIR: backEndsDir } });
  document = (await call(`${stack.url}/openapi.json`)).json<OpenApiDocument & Record<string, unknown>>();
  steps = Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${template}`,
      method: method.toUpperCase(),
      path: fillIn(template, operation.parameters ?? []),
      operation,
    })),
  );
  ({ operationOf } = await checkAnswersOf(stack.url));
  for (const client of ['demo', 'reader', 'worker', 'ops']) tokens.set(client, await tokenOf(stack.url, client));
});
afterAll(async () => {
  await stack?.stop();
  await stopIdle('dev/back-ends/main.ts');
  rmSync(backEndsDir, { recursive: true, force: true });
});

/** Fills each path parameter with its example in the document, or else with a word that names nothing. */
function fillIn(template: string, parameters: readonly Parameter[]): string {
  const of = (name: string) => parameters.find((parameter) => parameter.in === 'path' && parameter.name === name);
  return template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(of(name)?.example ?? 'nothing')),
  );
}

const clientOf: Readonly<Record<string, string>> = {
  sisdata_W: 'demo',
  conductor_worker: 'worker',
  conductor_admin: 'ops',
};

/** Returns the request of a step, with credentials; the body is the document's example, or text that is not JSON. */
function requestOf({ method, path, operation }: Step): CallOptions {
  const [requirement = {}] = operation.security ?? [];
  const [scheme, scopes = []] = Object.entries(requirement)[0] ?? [];
  const authorization =
    scheme === 'clientCredentials'
      ? { authorization: `Basic ${Buffer.from('demo:demo-secret').toString('base64')}` }
      : scheme === 'accessToken'
        ? { authorization: `Bearer ${tokens.get(clientOf[scopes[0] ?? ''] ?? 'demo')}` }
        : {};
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (type === undefined) return { method, headers: authorization };
  const headers = { ...authorization, 'content-type': type === '*/*' ? 'text/plain' : type };
  if (path === '/conductor/api/token')
    return { method, headers, body: '{"keyId":"worker","keySecret":"worker-secret"}' };
  if (content?.example === undefined) return { method, headers, body: 'no JSON' };
  const fields = content.example as Record<string, string>;
  const body = type.endsWith('json') ? JSON.stringify(fields) : new URLSearchParams(fields).toString();
  return { method, headers, body };
}

/**
 * Returns true for operations that describe a successful response. Operations on executions have a separate test,
 * because no example names an existing execution.
 */
const expectsSuccess = ({ operation: { responses = {}, tags = [] } }: Step) =>
  !tags.includes('executions') &&
  !('default' in responses) &&
  Object.keys(responses).some((status) => /^2/.test(status));

describe('every operation of the document', () => {
  it('called with its examples → a response that the document describes; 2xx where it describes success', async () => {
    const answered: Record<string, number> = {};
    for (const step of steps) {
      const { status, text } = await call(`${stack.url}${step.path}`, requestOf(step));
      // This stack might not run the back end of every route.
      if (!expectsSuccess(step) && text.includes('"/problems/back-end-unreachable"')) continue;
      expect(operationOf({ method: step.method, path: step.path })?.operation.operationId).toBe(
        step.operation.operationId,
      );
      answered[step.name] = status;
    }
    const failed = steps.filter((step) => expectsSuccess(step) && (answered[step.name] ?? 0) >= 300);
    expect(failed.map(({ name }) => `${name}: ${answered[name]}`)).toEqual([]);
    // The engine responds with 500 to a body that it cannot read.
    const ours = steps.filter(({ operation }) => !operation.tags?.includes('conductor'));
    expect(ours.filter(({ name }) => (answered[name] ?? 0) >= 500)).toEqual([]);
    expect(steps.length).toBeGreaterThan(40);
  });

  it('of an execution: its document, its response, and 409 when there is nothing left to cancel', async () => {
    const headers = { authorization: `Bearer ${tokens.get('demo')}` };
    const first = await call(`${stack.url}/adaptor/001/mock/colleges/001/terms`, { headers });
    const path = `/executions/${String(first.headers['x-execution-id'])}`;
    const look = await call(`${stack.url}${path}`, { headers });
    expect([look.status, look.json()['state']]).toEqual([200, 'completed']);
    expect((await call(`${stack.url}${path}/response`, { headers })).text).toBe(first.text);
    const cancelled = await call(`${stack.url}${path}`, { method: 'DELETE', headers });
    expect([cancelled.status, cancelled.json()['type']]).toEqual([409, '/problems/execution-ended']);
  });

  it('that needs a token, called without one → 401 unauthorized; with an invalid one → 401 invalid-token', async () => {
    const secured = steps.filter(({ operation }) => operation.security?.some((each) => 'accessToken' in each));
    expect(secured.length).toBeGreaterThan(30);
    for (const { name, method, path } of secured) {
      const without = await call(`${stack.url}${path}`, { method });
      expect([name, without.json()['type']]).toEqual([name, '/problems/unauthorized']);
      const headers = { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' };
      const wrong = await call(`${stack.url}${path}`, { method, headers });
      expect([name, wrong.json()['type']]).toEqual([name, '/problems/invalid-token']);
    }
  });

  it('that needs a scope, called with a token that lacks it → 403 insufficient-scope', async () => {
    const scoped = steps.filter(({ operation }) =>
      operation.security?.every((each) => (each['accessToken'] ?? each['conductorToken'])?.length),
    );
    const headers = { authorization: `Bearer ${tokens.get('reader')}` };
    for (const { name, method, path } of scoped.filter(({ operation }) => operation.security?.length)) {
      const answer = await call(`${stack.url}${path}`, { method, headers });
      expect([name, answer.status, answer.json()['type']]).toEqual([name, 403, '/problems/insufficient-scope']);
    }
  });

  it('that needs no token responds without one, and a token changes nothing', async () => {
    const open = steps.filter(({ operation, method }) => method === 'GET' && operation.security?.length === 0);
    expect(open.map(({ name }) => name)).toEqual([
      'GET /openapi.json',
      'GET /',
      'GET /docs',
      'GET /docs/{file}',
      'GET /problems',
      'GET /problems/{code}',
    ]);
    for (const { path } of open) {
      const without = await call(`${stack.url}${path}`);
      const headers = { authorization: `Bearer ${tokens.get('demo')}` };
      expect((await call(`${stack.url}${path}`, { headers })).text).toBe(without.text);
    }
  });
});
