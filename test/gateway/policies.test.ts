// Tests of the guarantees for policies and plugins: order, error handling, one log line, metrics and error reports.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { call, type CallOptions } from '../stack/client.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { pollUntil } from '../stack/poll-until.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-policies-'));
const contract = fileURLToPath(new URL('../../gateway/plugin-api/plugin-api.ts', import.meta.url));
const marker = 'marker-7f3a-personal';
const reports: string[] = [];
const ingest = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  reports.push(body);
  response.end('{}');
});

/** A plugin whose policies misbehave in every way a policy can. */
const plugin = `
import { declarePolicy, definePolicy, contextOf } from ${JSON.stringify(contract)};
const schema = { type: 'object', properties: { say: { type: 'string' } } };
const declared = Object.fromEntries(['note', 'throws', 'rejects', 'rejects-late', 'answers', 'answers-late', 'fails', 'passes-and', 'own-context', 'refuses'].map((name) => [name, declarePolicy({ name, schema })]));
const policy = (name, handle) => definePolicy(declared[name], { create: (parameters) => (request, response, next) => handle(request, response, next, parameters) });
export const version = '1.0.0';
export const policies = Object.values(declared);
export function init({ registerPolicy }) {
  const note = (request, response, next, { say }) => {
    const context = contextOf(request);
    context.reason = (context.reason ?? '') + say;
    next();
  };
  registerPolicy(policy('note', note));
  registerPolicy(policy('throws', () => { throw new Error('thrown with ${marker}'); }));
  registerPolicy(policy('rejects', async () => { throw new Error('rejected with ${marker}'); }));
  registerPolicy(policy('rejects-late', async (request, response) => { response.write('half'); await new Promise((r) => setTimeout(r, 10)); throw new Error('late'); }));
  const failures = {
    'throws-undefined': () => { throw undefined; },
    'throws-null': () => { throw null; },
    'throws-empty-text': () => { throw ''; },
    'throws-route': () => { throw 'route'; },
    'throws-router': () => { throw 'router'; },
    'rejects-with-nothing': () => Promise.reject(),
    'rejects-with-null': async () => { throw null; },
    'thenable-rejects': () => ({ then: (_resolve, reject) => reject(new Error('not a Promise')) }),
    'thenable-throws': () => ({ then: () => { throw new Error('not a Promise'); } }),
    'passes-later': (next) => { setImmediate(next); throw new Error('first'); },
    'passes-an-error-twice': (next) => { next(new Error('one')); next(new Error('two')); },
  };
  registerPolicy(policy('fails', ({ params }, _response, next) => failures[params.how](next)));
  const additions = {
    'calls-next-again': (next) => next(),
    'passes-an-error': (next) => next(new Error('passed too late')),
    'skips-the-router': (next) => next('router'),
    'throws': () => { throw new Error('thrown too late'); },
    'throws-undefined': () => { throw undefined; },
    'rejects': async () => { throw new Error('rejected too late'); },
    'rejects-with-nothing': () => Promise.reject(),
  };
  registerPolicy(policy('passes-and', ({ params }, _response, next) => { next(); return additions[params.how](next); }));
  registerPolicy(policy('answers-late', async (request, response) => { await new Promise(setImmediate); response.end(contextOf(request).reason); }));
  const prototypes = new Set();
  registerPolicy(policy('own-context', ({ egContext }, response) => {
    prototypes.add(Object.getPrototypeOf(egContext));
    response.end(JSON.stringify({ requestID: egContext.requestID, path: egContext.req.path, prototypes: prototypes.size }));
  }));
  registerPolicy(policy('refuses', (_request, response) => response.writeHead(401).end()));
  registerPolicy(policy('answers', (request, response) => response.end(contextOf(request).reason)));
}
`;

const map = `
http:
  hostname: 127.0.0.1
  port: \${router.port}
apiEndpoints:
  throws: { paths: /throws }
  rejects: { paths: /rejects }
  late: { paths: /late }
  order: { paths: /order }
  context: { paths: /context/* }
  reads: { paths: /reads, methods: [GET] }
  fails: { paths: /fails/:how }
  passes: { paths: /passes/:how }
plugins: { misbehaving: { package: ${join(dir, 'plugin.ts')} } }
policies: [note, throws, rejects, rejects-late, answers, answers-late, fails, passes-and, own-context, refuses]
pipelines:
  throws: { apiEndpoints: [throws], policies: [{ throws: [] }] }
  rejects: { apiEndpoints: [rejects], policies: [{ rejects: [] }] }
  late: { apiEndpoints: [late], policies: [{ rejects-late: [] }] }
  fails: { apiEndpoints: [fails], policies: [{ fails: [] }, { answers: [] }] }
  passes:
    apiEndpoints: [passes]
    policies: [{ passes-and: [] }, { note: { action: { say: done } } }, { answers-late: [] }]
  context:
    apiEndpoints: [context]
    policies:
      - answers: { condition: { name: expression, expression: "requestID === 'context-check-3'" } }
      - own-context:
  reads:
    apiEndpoints: [reads]
    policies:
      - refuses: { condition: { name: method, methods: [GET] } }
      - answers:
  order:
    apiEndpoints: [order]
    policies:
      - note: [{ action: { say: a } }, { action: { say: b } }]
      - note: [{ condition: { name: method, methods: [GET] }, action: { say: c } }]
      - note: [{ condition: { name: never }, action: { say: d } }]
      - note: { action: { say: e } }
      - answers:
`;

const host = `
import { loadConfig } from ${JSON.stringify(fileURLToPath(new URL('../../lib/config/load.ts', import.meta.url)))};
import { createErrorTracker } from ${JSON.stringify(fileURLToPath(new URL('../../lib/telemetry/error-tracking/error-tracker.ts', import.meta.url)))};
import { runProgram } from ${JSON.stringify(fileURLToPath(new URL('../../lib/process/run-program.ts', import.meta.url)))};
import { startRouter } from ${JSON.stringify(fileURLToPath(new URL('../../gateway/start-router.ts', import.meta.url)))};
await runProgram('router', async (log) => {
  const { config } = await loadConfig();
  const errors = await createErrorTracker({ dsn: config['sentry.dsn'], environment: 'test', program: 'router' });
  const router = await startRouter({ config, log, gatewayConfigFile: ${JSON.stringify(join(dir, 'map.yml'))}, reportError: errors.report });
  return { ready: { url: router.url, operationsUrl: router.operationsUrl }, stop: () => router.stop() };
});
`;

let router: Program;
let url: string;

beforeAll(async () => {
  writeFileSync(join(dir, 'plugin.ts'), plugin);
  writeFileSync(join(dir, 'map.yml'), map);
  writeFileSync(join(dir, 'host.ts'), host);
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  ingest.listen(0, '127.0.0.1');
  await once(ingest, 'listening');
  const { port } = ingest.address() as AddressInfo;
  router = await startProgram(join(dir, 'host.ts'), {
    ROUTER_PORT: '0',
    OPS_PORT: '0',
    SENTRY_DSN: `http://key@127.0.0.1:${port}/1`,
  });
  url = router.ready['url'] as string;
});
afterAll(async () => {
  await router?.stop();
  ingest.closeAllConnections();
  ingest.close();
  rmSync(dir, { recursive: true });
});

/** Returns the log lines of a request, once the line about its response has been written. */
const linesOf = (requestId: string) =>
  pollUntil(`the log lines of ${requestId}`, () => {
    const written = router.output().split('\n');
    const lines = written.flatMap((line) => (line.includes(requestId) ? [JSON.parse(line) as LogLine] : []));
    return lines.some(({ msg }) => msg === 'response sent') && lines;
  });

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly requestId: string;
  readonly route: string;
  readonly reason?: string;
  readonly error?: string;
  readonly stack?: string;
}

const withSecrets: CallOptions = { headers: { authorization: `Bearer ${marker}`, 'x-request-id': 'request-id-1' } };

describe('a policy that fails', () => {
  it.each(['/throws', '/rejects'])(
    '%s → a 500 problem document without details of the error, and the process keeps running',
    async (path) => {
      const answer = await call(`${url}${path}?name=${marker}`, withSecrets);
      expect(answer.status).toBe(500);
      expect(answer.json()).toEqual({
        type: '/problems/internal-error',
        title: 'The router failed',
        status: 500,
        requestId: 'request-id-1',
      });
      expect((await call(`${url}/order`)).status).toBe(200);
    },
  );

  it('after its response has begun → the connection is closed, so that no client accepts half a response', async () => {
    await expect(call(`${url}/late`)).rejects.toThrow();
    expect((await call(`${url}/order`)).status).toBe(200);
  });

  it('is reported to the error tracker without token, query or body', async () => {
    await pollUntil('a report', () => reports.some((report) => report.includes('"exception"')));
    const text = reports.join('\n');
    expect(text).toContain('internal-error');
    expect(text).toContain('"requestId":"request-id-1"');
    expect(text).toMatch(/"route":"(throws|rejects)"/);
    expect(text).not.toContain(`Bearer ${marker}`);
    expect(text).not.toContain(`name=${marker}`);
  });

  it('leaves one log line with the stack, and none with the token or the query', async () => {
    const lines = await pollUntil('the log lines', () => {
      const written = router.output().split('\n');
      const found = written.filter((line) => line.includes('a policy failed'));
      return found.length >= 2 && found;
    });
    expect(lines[0]).toContain('plugin.ts');
    expect(router.output()).not.toContain(`Bearer ${marker}`);
    expect(router.output()).not.toContain(`name=${marker}`);
  });

  it.each([
    ['throws-undefined', 'undefined'],
    ['throws-null', 'null'],
    ['throws-empty-text', ''],
    ['throws-route', 'route'],
    ['throws-router', 'router'],
    ['rejects-with-nothing', 'undefined'],
    ['rejects-with-null', 'null'],
    ['thenable-rejects', 'not a Promise'],
    ['thenable-throws', 'not a Promise'],
  ])('%s → 500 and a log line with the request id and the route; no later step runs', async (how, error) => {
    const requestId = `fails-${how}`;
    const answer = await call(`${url}/fails/${how}`, { headers: { 'x-request-id': requestId } });
    expect(answer.status).toBe(500);
    expect(answer.json()).toMatchObject({ type: '/problems/internal-error', requestId });
    expect((await linesOf(requestId)).filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ msg: 'a policy failed', requestId, route: 'fails', error }),
    ]);
  });

  it.each([
    ['passes-later', 'first'],
    ['passes-an-error-twice', 'one'],
  ])('%s → the first failure decides, and the later call of next() is only logged', async (how, error) => {
    const requestId = `fails-${how}`;
    const answer = await call(`${url}/fails/${how}`, { headers: { 'x-request-id': requestId } });
    expect(answer.status).toBe(500);
    const errors = await pollUntil('both log lines', async () => {
      const found = (await linesOf(requestId)).filter(({ level }) => level === 'error');
      return found.length >= 2 && found;
    });
    const messages = errors.map(({ msg }) => msg).toSorted();
    expect(messages).toEqual(['a policy failed', laterCall('fails')]);
    expect(errors.find(({ msg }) => msg === 'a policy failed')).toMatchObject({ error });
  });
});

const laterCall = (policy: string) =>
  `ignored a call to next(): the policy ${policy} had already called it or had failed for this request`;
const lateFailure = (policy: string) => `the policy ${policy} failed after it had called next(): the request continues`;

describe('a policy that has called next()', () => {
  it.each([
    ['calls-next-again', laterCall('passes-and'), undefined],
    ['passes-an-error', laterCall('passes-and'), 'passed too late'],
    ['skips-the-router', laterCall('passes-and'), 'router'],
    ['throws', lateFailure('passes-and'), 'thrown too late'],
    ['throws-undefined', lateFailure('passes-and'), 'undefined'],
    ['rejects', lateFailure('passes-and'), 'rejected too late'],
    ['rejects-with-nothing', lateFailure('passes-and'), 'undefined'],
  ])('and %s → the next steps run once and respond; the log names the policy', async (how, msg, error) => {
    const requestId = `passes-${how}`;
    const answer = await call(`${url}/passes/${how}`, { headers: { 'x-request-id': requestId } });
    expect([answer.status, answer.text]).toEqual([200, 'done']);
    const lines = await linesOf(requestId);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ msg, requestId, route: 'passes' }),
    ]);
    expect(lines.find((line) => line.msg === msg)?.error).toBe(error);
    expect(lines.find((line) => line.msg === 'response sent')?.reason).toBe('done');
  });
});

describe('a pipeline', () => {
  it('runs its policies in the order of the file, subject to their conditions', async () => {
    expect((await call(`${url}/order`)).text).toBe('abce');
    expect((await call(`${url}/order`, { method: 'POST' })).text).toBe('abe');
  });

  it.each(['GET', 'HEAD'])('%s meets a condition on GET', async (method) => {
    expect((await call(`${url}/reads`, { method })).status).toBe(401);
  });

  it('gives each request an Express Gateway context with its id, and all contexts one prototype', async () => {
    const ask = (id: string) => call(`${url}/context/${id}`, { headers: { 'x-request-id': id } });
    const answers = await Promise.all(['context-check-1', 'context-check-2'].map(async (id) => (await ask(id)).json()));
    expect(answers).toEqual([
      { requestID: 'context-check-1', path: '/context/context-check-1', prototypes: 1 },
      { requestID: 'context-check-2', path: '/context/context-check-2', prototypes: 1 },
    ]);
    // Here the policy `answers` runs and responds with an empty body.
    expect((await ask('context-check-3')).text).toBe('');
  });

  it('writes one log line per request', async () => {
    await call(`${url}/order`, { headers: { 'x-request-id': 'line-check-1' } });
    const line = await pollUntil('the log line', () =>
      router
        .output()
        .split('\n')
        .find((text) => text.includes('line-check-1')),
    );
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      route: 'order',
      method: 'GET',
      status: 200,
      durationMs: expect.any(Number),
    });
  });

  it('counts and times its requests by route', async () => {
    const metrics = (await call(`${router.ready['operationsUrl']}/metrics`)).text;
    expect(metrics).toMatch(/router_http_requests_total\{route="order",method="GET",status="200"\} [1-9]/);
    expect(metrics).toMatch(/router_http_request_duration_seconds_count\{route="throws"\} 1/);
    expect(metrics).toContain('process_resident_memory_bytes');
  });
});
