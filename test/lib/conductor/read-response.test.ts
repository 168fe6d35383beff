// Tests of how messages quote the engine's error texts: reasons are kept, values of an execution are not.

import { describe, expect, it, test } from 'vitest';
import { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import { expectSuccess, parseResponse } from '#lib/conductor/read-response.ts';
import { errorFields } from '#lib/telemetry/logging/log.ts';
import { startRawBackEnd } from '../../workers/raw-back-end.ts';

const sql =
  'ERROR: unsupported Unicode escape sequence\n  Detail: \\u0000 cannot be converted to text.\n  Where: JSON data, line 1: ' +
  '...{"misCode":"002","sisPersonId":"B00417733","cccid": SECRET1';
const responseOf = (status: number, body: unknown) => ({
  status,
  headers: {},
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
/** Returns the JSON of the error fields that a log line would contain. */
async function loggedOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(EngineError);
    return JSON.stringify(errorFields(error));
  }
  throw new Error('the call did not fail');
}

describe('an SQL error of the engine', () => {
  const refused = responseOf(500, { status: 500, message: sql, instance: 'engine', retryable: false });
  const api = new ExecutionApi(async () => refused);
  const metadata = new MetadataApi(async () => refused);

  test.each<[string, () => unknown]>([
    ['a start', () => api.start({ name: 'mdm-shareWF', version: 1, input: {} })],
    ['a search', () => api.search({}, { offset: 0, size: 1 })],
    ['a read', () => api.readWhole('e-1')],
    ['a retry', () => api.retry('e-1')],
    ['a call for metadata', () => metadata.readPollData()],
    ['any call', () => expectSuccess(refused, 'any call')],
  ])('in response to %s → the status and where to look, but no value', async (_label, call) => {
    const logged = await loggedOf(call);
    expect(logged).toContain('500');
    expect(logged).toContain("see the engine's log for the reason");
    for (const value of ['B00417733', 'SECRET1', 'u0000', 'JSON data']) expect(logged).not.toContain(value);
  });

  it('in a response to the router’s own engine client → the same', async () => {
    const body = JSON.stringify({ message: sql });
    const server = await startRawBackEnd((socket) =>
      socket.write(`HTTP/1.1 500 X\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    );
    const engine = new Engine({ url: server.url, timeoutMs: 60_000, connections: 1 });
    const logged = await loggedOf(() => engine.startWorkflow({ name: 'mdmWF', version: 1, input: {} }));
    expect(logged).toContain('500');
    expect(logged).not.toMatch(/B00417733|SECRET1/);
    await engine.close();
    await server.stop();
  });
});

describe('other refusals', () => {
  const messageOf = (status: number, body: unknown) => loggedOf(() => expectSuccess(responseOf(status, body), 'call'));

  it('a reason with an execution id → kept', async () => {
    const message = 'No such workflow found by id: 2f3c0a7e-6a55-4c0e-9d3f-0f5f4a5b6c7d';
    expect(await messageOf(404, { message })).toContain(message);
  });

  it('a reason that quotes the request → kept without the quotation', async () => {
    const logged = await messageOf(400, { message: 'Cannot read "cccid":"SECRET1"' });
    expect(logged).toContain('Cannot read');
    expect(logged).not.toContain('SECRET1');
  });

  it('a problem document of the router → its title and detail, whatever the status', async () => {
    const problem = {
      type: '/problems/engine-unavailable',
      title: 'Engine unavailable',
      detail: 'It did not respond.',
    };
    expect(await messageOf(503, problem)).toContain('Engine unavailable; It did not respond.');
  });

  it('a problem document from another source with 500 → not quoted', async () => {
    expect(await messageOf(500, { type: 'about:blank', detail: 'SECRET1' })).not.toContain('SECRET1');
  });
});

it('a response that is not JSON → an error that does not quote it', async () => {
  const logged = await loggedOf(() => parseResponse(responseOf(200, 'SECRET1 is no JSON')));
  expect(logged).not.toContain('SECRET1');
});
