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

  it('whose output has members with these names: valid', () => {
    const outputData = { externalOutputPayloadStoragePath: 'x', subWorkflowId: 'y' };
    expect(parse({ outputData })).toMatchObject({ outputData });
  });
});
