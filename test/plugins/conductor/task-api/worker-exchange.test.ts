// Tests of the body of an exchange: what a worker may request in it, and that its results stay unchanged.

import { expect, it } from 'vitest';
import { parseExchange } from '../../../../plugins/conductor/task-api/worker-exchange.ts';

const wanted = [{ taskType: 't', domain: '002', count: 3 }];
const header = { workerId: 'w', timeout: 5_000, wanted };
const malformed = expect.objectContaining({ code: 'malformed-request' });
const parse = (...lines: (string | object)[]) =>
  parseExchange(Buffer.from(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')));

it('a worker may send no results', () => {
  expect(parse(header)).toEqual({ workerId: 'w', timeoutMs: 5_000, wanted, results: [] });
});

it('results are the unchanged bytes of their lines', () => {
  const { results } = parse(header, '{"n":1.0}', 'no JSON', '', '{"text":"a\\nb\u2028"}');
  expect(results.map(String)).toEqual(['{"n":1.0}', 'no JSON', '{"text":"a\\nb\u2028"}']);
});

it('a queue without a domain belongs to the default pool, and a worker needs no id', () => {
  expect(
    parse({
      timeout: 0,
      wanted: [
        { taskType: 't', count: 1, domain: '' },
        { taskType: 'u', count: 0 },
      ],
    }),
  ).toEqual({
    workerId: undefined,
    timeoutMs: 0,
    wanted: [{ taskType: 't', domain: undefined, count: 1 }],
    results: [],
  });
});

it.each([
  ['nothing', ''],
  ['not JSON', 'x'],
  ['null', 'null'],
  ['no queues', { timeout: 1 }],
  ['no timeout', { wanted }],
  ['a negative timeout', { ...header, timeout: -1 }],
  ['an id that is not a string', { ...header, workerId: 7 }],
  ['a queue without a type', { ...header, wanted: [{ count: 1 }] }],
  ['a queue without a count', { ...header, wanted: [{ taskType: 't' }] }],
  ['a count that is not a whole number', { ...header, wanted: [{ taskType: 't', count: 1.5 }] }],
  ['a domain that is not a string', { ...header, wanted: [{ taskType: 't', count: 1, domain: 2 }] }],
  ['a queue that is null', { ...header, wanted: [null] }],
  ['more than 100 queues', { ...header, wanted: Array.from({ length: 101 }, () => wanted[0]) }],
])('%s → refused', (_what, first) => {
  expect(() => parse(first)).toThrow(malformed);
});

it('more than 1,000 results → refused', () => {
  const results = (count: number) => Array.from({ length: count }, () => '{}');
  expect(parse(header, ...results(1_000)).results).toHaveLength(1_000);
  expect(() => parse(header, ...results(1_001))).toThrow(malformed);
});
