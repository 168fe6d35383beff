// Tests of task results: the members that a worker may send, and those that are refused although the engine would
// accept them.

import { describe, expect, it } from 'vitest';
import { parseTaskResult } from '../../../../plugins/conductor/task-api/task-result.ts';

const result = { taskId: 't', workflowInstanceId: 'w', status: 'COMPLETED', outputData: { a: 1 } };
const parse = (fields: object) => parseTaskResult(Buffer.from(JSON.stringify({ ...result, ...fields })));
const malformed = expect.objectContaining({ code: 'malformed-request' });

describe('a result', () => {
  it.each(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'CANCELED'])('%s is valid', (status) => {
    expect(parse({ status })).toEqual({ ...result, status });
  });

  it.each([
    { status: 'BANANA' },
    { status: 'completed' },
    { status: 3 },
    { status: undefined },
    { status: null, extendLease: false },
    { status: 'BANANA', extendLease: true },
    { taskId: 1 },
    { workflowInstanceId: null },
  ])('with %j: refused', (fields) => {
    expect(() => parse(fields)).toThrow(malformed);
  });

  it.each([{ status: undefined }, { status: null }, { status: 'IN_PROGRESS' }])(
    'with %j that extends the lease: valid, because the engine ignores the status',
    (fields) => expect(parse({ ...fields, extendLease: true })).toMatchObject({ taskId: 't', extendLease: true }),
  );

  it.each(['', 'null', '[]', '"x"', '{', '\u0000{}'])('%j: refused', (text) => {
    expect(() => parseTaskResult(Buffer.from(text))).toThrow(malformed);
  });

  it.each(['taskId', 'workflowInstanceId', 'workerId'])(
    '%s with a control character, which would forge lines in the log of the engine: refused',
    (name) => {
      for (const value of [
        'a\nb',
        'a\rb',
        'a\u001b[31m',
        'a\u0000',
        'a\u007f',
        'a\u0085',
        'a\u2028b',
        'a\u202eb',
        'a\ud800b',
        'x'.repeat(257),
      ])
        expect(() => parse({ [name]: value })).toThrow(malformed);
      expect(parse({ [name]: 'worker-1@host.example:7 (v2)/ä' })).toBeDefined();
    },
  );

  it('with workerId null, as some SDKs write it: valid', () => {
    expect(parse({ workerId: null })).toEqual({ ...result, workerId: null });
  });

  it('as the SDKs write it, with empty fields: valid', () => {
    const empty = {
      externalOutputPayloadStoragePath: null,
      subWorkflowId: '',
      outputMessage: null,
      extendLease: false,
      logs: [],
    };
    expect(parse(empty)).toEqual({ ...result, ...empty });
  });

  it.each([
    ['externalOutputPayloadStoragePath', '../../dev/zero'],
    ['ExternalOutputPayloadStoragePath', 'x'],
    ['externalOutputPayloadStoragePath', ['x']],
    ['subWorkflowId', 'w2'],
    ['outputMessage', {}],
  ])('%s: %j: refused', (name, value) => {
    expect(() => parse({ [name]: value })).toThrow(malformed);
    const escaped = JSON.stringify({ ...result, [name]: value }).replace(
      `"${name}"`,
      `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`,
    );
    expect(() => parseTaskResult(Buffer.from(escaped))).toThrow(malformed);
  });

  it.each([
    ['workerId', ['\ud800']],
    ['workerId', {}],
    ['reasonForIncompletion', { a: 1 }],
    ['reasonForIncompletion', ['a']],
    ['callbackAfterSeconds', 'abc'],
    ['callbackAfterSeconds', '5.0'],
    ['callbackAfterSeconds', '9223372036854775808'],
    ['callbackAfterSeconds', 1e300],
    ['callbackAfterSeconds', true],
    ['callbackAfterSeconds', [5]],
    ['callbackAfterSeconds', {}],
    ['outputData', 'x'],
    ['outputData', ''],
    ['outputData', 5],
    ['outputData', [{}]],
    ['logs', 'x'],
    ['logs', {}],
    ['logs', [null]],
    ['logs', [5]],
    ['logs', [[]]],
    ['logs', [{ log: 'a' }, { log: {} }]],
    ['logs', [{ log: 'a', taskId: [] }]],
    ['logs', [{ log: 'a', createdTime: 'now' }]],
    ['extendLease', 'x'],
    ['extendLease', {}],
    ['supportsCancellation', 'x'],
    ['executionMetadata', 'x'],
    ['executionMetadata', []],
    ['executionMetadata', { serverSendTime: 'x' }],
    ['executionMetadata', { additionalContext: 'x' }],
    ['outputMessage', ''],
  ])('with %s %j: refused by name, because the engine would respond with 500', (name, value) => {
    for (const status of ['COMPLETED', 'IN_PROGRESS'])
      expect(() => parse({ status, [name]: value })).toThrow(
        expect.objectContaining({ code: 'malformed-request', detail: expect.stringContaining(name) }),
      );
  });

  it('with a number as the worker id: valid, and converted as the engine does', () => {
    expect(parse({ workerId: 4711 }).workerId).toBe('4711');
  });

  it.each([0, 'false', ''])('with extendLease %j, which the engine takes for false: valid', (extendLease) => {
    expect(parse({ extendLease })).toMatchObject({ status: result.status });
  });

  it.each(['true', 1])('with extendLease %j, which only the engine would take for true: refused', (extendLease) => {
    expect(() => parse({ extendLease })).toThrow(malformed);
  });

  it('with null for every member that may be missing: valid', () => {
    const names = ['workerId', 'reasonForIncompletion', 'callbackAfterSeconds', 'outputData', 'logs', 'extendLease'];
    const nulls = Object.fromEntries(
      [...names, 'supportsCancellation', 'executionMetadata', 'outputMessage'].map((name) => [name, null]),
    );
    expect(parse(nulls)).toEqual({ ...result, ...nulls });
  });

  it.each([
    { logs: [{ log: 'a', taskId: 't', createdTime: 1_700_000_000.5 }, { log: 5, other: {} }, { log: null }, 'text'] },
    { executionMetadata: { serverSendTime: 5, clientSendTime: null, additionalContext: { a: 1 }, other: [] } },
    { supportsCancellation: true, extendLease: false },
    { seq: {}, unknown: [] },
  ])('with %j, which the engine can read: valid', (fields) => {
    expect(parse(fields)).toEqual({ ...result, ...fields });
  });

  it.each([
    [2, '2'],
    [true, 'true'],
    ['text', 'text'],
  ])('with the reason %j, as the Python SDK sends the number of an OSError: read as the text %j', (reason, text) => {
    expect(parse({ reasonForIncompletion: reason })).toMatchObject({ reasonForIncompletion: text });
  });

  it.each([
    [5, 5],
    [5.7, 5],
    ['5', 5],
    ['+5', 5],
    ['-5', -5],
    ['', 0],
  ])('with callbackAfterSeconds %j: read as %j, as the engine does', (value, seconds) => {
    expect(parse({ callbackAfterSeconds: value })).toMatchObject({ callbackAfterSeconds: seconds });
  });

  it('whose output has members with these names: valid', () => {
    const outputData = { externalOutputPayloadStoragePath: 'x', subWorkflowId: 'y' };
    expect(parse({ outputData })).toMatchObject({ outputData });
  });
});
