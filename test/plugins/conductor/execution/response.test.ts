// Tests of how the response to the client is made from an execution: outputs that can be sent, and executions and
// outputs that cause a problem document.

import { describe, expect, it } from 'vitest';
import { cancellationReason } from '#lib/conductor/executions/cancelled.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import { responseHeaderFilter } from '#lib/envelope/headers.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { terminationReason } from '#lib/conductor/executions/reconciler-terminations.ts';
import { superseded } from '#lib/conductor/executions/superseded.ts';
import {
  failureOf,
  responseDeadlineSpent,
  responseOf,
  sendResponse,
} from '../../../../plugins/conductor/execution/response.ts';
import { clientGoneReason, deadlineReason } from '../../../../plugins/conductor/execution/terminations.ts';

const options = {
  maxBytes: 1_000,
  allows: responseHeaderFilter(['x-rate', 'x-request-id', 'server-timing', 'idempotency-replayed']),
  codec: createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] }),
  linksOf: () => ({ self: '', response: '' }),
  readOnly: true,
  clientId: 'c',
};

const completed = (headers: Record<string, string>): ExecutionStatus => ({
  workflowId: 'e-1',
  status: 'COMPLETED',
  output: { outbound: createOutbound({ status: 200, headers, body: Buffer.from('{}') }) },
});

/** The reason that the engine stores when it loses the reason for a termination. */
const lostReason = "Task 6a55d23a failed with status: TERMINATED and reason: 'null'";

describe('responseOf', () => {
  it.each([
    ['after the response was known, because the event was not published', terminationReason('event_stuck')],
    ['after the response was known, for a reason that the engine lost', lostReason],
  ])('an execution that was terminated %s: returns the response', (_title, reasonForIncompletion) => {
    const terminated = { ...completed({}), status: 'TERMINATED' as const, reasonForIncompletion };
    expect(responseOf(terminated, options)).toMatchObject({ status: 200 });
  });

  it('an execution that was terminated before the response was known: throws a problem', () => {
    const terminated = { workflowId: 'e-1', status: 'TERMINATED' as const, reasonForIncompletion: lostReason };
    for (const output of [{}, { outbound: null }]) {
      expect(() => responseOf({ ...terminated, output }, options)).toThrow(
        expect.objectContaining({ code: 'execution-timed-out' }),
      );
    }
  });

  it.each([
    ['a line break', 'a\r\nset-cookie: b'],
    ['a character outside Latin-1', 'caf\u00e9 \u20ac'],
  ])('a header field with %s is a bad response from the back end', (_title, value) => {
    expect(() => responseOf(completed({ 'x-rate': value }), options)).toThrow(
      expect.objectContaining({
        code: 'back-end-bad-answer',
        detail: 'A header field of the response cannot be sent.',
      }),
    );
  });

  it('fields that the router sets itself never come from a back end, even when the configuration names them', () => {
    const headers = { 'x-rate': '1', 'x-request-id': 'theirs', 'server-timing': 'a', 'idempotency-replayed': 'true' };
    expect(responseOf(completed(headers), options).headers).toEqual({ 'x-rate': '1' });
  });

  it.each([
    ['no response', { outbound: 'x' }, 'The workflow output is not a response.'],
    ['more than maxBytes', { outbound: outboundOf(1_001) }, 'The response has more than 1000 bytes.'],
    [
      'header fields above 12 KiB',
      { outbound: outboundOf(2, 12_300) },
      expect.stringContaining('more than 12288 bytes'),
    ],
  ])('an output with %s is a bad response from the back end', (_title, output, detail) => {
    const problem = expect.objectContaining({ code: 'back-end-bad-answer', detail });
    expect(() => responseOf({ ...completed({}), output }, options)).toThrow(problem);
  });

  it('sends an encrypted response only to the client that it names, or to any client if it names none', () => {
    const key = `k:${Buffer.alloc(32).toString('base64')}`;
    const codec = createPayloadCodec({ 'payload.key': key, 'payload.decryptionKeys': [] });
    const request = { httpMethod: 'GET', path: '/', query: undefined, params: {}, headers: {}, requestId: 'r' };
    const inbound = codec.packInbound({ ...request, clientId: 'c', route: 'movies', body: Buffer.alloc(0) }, []);
    const response = { status: 200, headers: {}, body: Buffer.from('{}') };
    const sentTo = (clientId: string, from: object) => {
      const outbound = codec.packOutbound(response, { inbound: from, executionId: 'e-1' });
      return responseOf({ ...completed({}), output: { outbound } }, { ...options, codec, clientId });
    };
    expect(sentTo('c', inbound)).toEqual(response);
    expect(sentTo('thief', { ...inbound, clientId: undefined })).toEqual(response);
    expect(() => sentTo('thief', inbound)).toThrow(expect.objectContaining({ code: 'payload-unreadable' }));
  });

  it('a payload that cannot be decrypted: payload-unreadable, which says that the request was carried out', () => {
    const key = `k:${Buffer.alloc(32).toString('base64')}`;
    const codec = createPayloadCodec({ 'payload.key': key, 'payload.decryptionKeys': [] });
    const request = { httpMethod: 'GET', path: '/', query: undefined, params: {}, headers: {}, requestId: 'r' };
    const inbound = codec.packInbound({ ...request, clientId: 'c', route: 'movies', body: Buffer.alloc(0) }, []);
    const response = { status: 200, headers: {}, body: Buffer.from('{}') };
    const sealed = codec.packOutbound(response, { inbound, executionId: 'e-1' });
    const detail = expect.stringMatching(/^The response cannot be read: .*The request was carried out\.$/);
    expect(() => responseOf({ ...completed({}), output: { outbound: sealed } }, options)).toThrow(
      expect.objectContaining({ code: 'payload-unreadable', detail }),
    );
  });
});

function outboundOf(bytes: number, headerBytes = 1) {
  return createOutbound({ status: 200, headers: { 'x-rate': 'a'.repeat(headerBytes) }, body: Buffer.alloc(bytes) });
}

describe('failureOf', () => {
  const failed = (status: 'FAILED' | 'TIMED_OUT' | 'TERMINATED', reasonForIncompletion?: string, readOnly = true) =>
    failureOf({ workflowId: 'e-1', status, ...(reasonForIncompletion && { reasonForIncompletion }) }, { readOnly });

  it.each([
    ['FAILED', "Task t failed with 'back-end-timeout: no response'", 'back-end-timeout', 'no response'],
    ['FAILED', 'java.lang.NullPointerException', 'execution-failed', undefined],
    ['FAILED', undefined, 'execution-failed', undefined],
    ['TIMED_OUT', undefined, 'execution-timed-out', 'No worker finished the task in time.'],
    ['TERMINATED', terminationReason('outcome_unknown'), 'execution-timed-out', 'No worker finished the task in time.'],
    ['TERMINATED', terminationReason('never_scheduled'), 'execution-failed', 'The execution was terminated.'],
    ['TERMINATED', cancellationReason({}), 'execution-cancelled', undefined],
    ['TERMINATED', cancellationReason({ lastRetriedTime: 5 }), 'execution-failed', 'The execution was terminated.'],
    ['TERMINATED', superseded, 'idempotency-key-in-use', undefined],
    ['TERMINATED', clientGoneReason, 'execution-failed', 'The execution was terminated.'],
    ['TERMINATED', lostReason, 'execution-timed-out', 'No worker finished the task in time.'],
  ] as const)('%s, %s → %s', (status, reason, code, detail) => {
    expect(failed(status, reason)).toMatchObject({ code, detail });
  });

  it.each([true, false])(
    'timed out → a write may still be applied, a read changes nothing (readOnly: %s)',
    (readOnly) => {
      expect(failed('TIMED_OUT', undefined, readOnly).extensions).toEqual({ mayStillComplete: !readOnly });
    },
  );

  it.each([true, false])('terminated at the deadline → the problem that was sent then (readOnly: %s)', (readOnly) => {
    const { code, detail, extensions } = failed('TERMINATED', deadlineReason(1_500), readOnly);
    const told = responseDeadlineSpent(1_500, { readOnly });
    expect({ code, detail, extensions }).toEqual({
      ...{ code: told.code, detail: told.detail },
      extensions: told.extensions,
    });
    expect(extensions).toEqual({ mayStillComplete: !readOnly });
    expect(detail).toContain('No response within 1500 ms');
  });
});

describe('sendResponse', () => {
  it.each([
    ['GET', 200, '{}', '2'],
    ['HEAD', 200, undefined, undefined],
    ['GET', 204, undefined, undefined],
    ['GET', 304, undefined, undefined],
  ])('%s %i: a body and its length, or neither', (method, status, body, length) => {
    const sent: unknown[] = [];
    const response = {
      req: { method },
      writeHead: (...head: unknown[]) => void sent.push(...head),
      end: (bytes?: Buffer) => void sent.push(bytes?.toString()),
    };
    sendResponse(response as never, { status, headers: { etag: '"1"' }, body: Buffer.from('{}') });
    expect(sent).toEqual([status, { etag: '"1"', ...(length && { 'content-length': 2 }) }, body]);
  });
});
