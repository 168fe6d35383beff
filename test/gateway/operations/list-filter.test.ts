// Tests of the filter of the list of executions: addresses, searches, and queries that must not reach the engine.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { readOnly } from '../../../gateway/operations/executions/engine-reader.ts';
import { listAddress, parseListQuery, toSearch } from '../../../gateway/operations/executions/list-filter.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const search = (query: string) => toSearch(parseListQuery(new URLSearchParams(query)), now);

describe('toSearch', () => {
  it('searches the last 24 hours by default, with the newest executions first', () => {
    expect(search('')).toEqual({
      filter: { since: now - 86_400_000 },
      bounds: { limit: 25, maxScanned: 500, offset: 0, order: 'newest' },
    });
  });

  it('searches running executions of any age, with the oldest first', () => {
    expect(search('state=running')).toMatchObject({
      filter: { statuses: ['RUNNING', 'PAUSED'] },
      bounds: { order: 'oldest' },
    });
    expect(search('state=running')).not.toHaveProperty('filter.since');
  });

  it('reads every field', () => {
    expect(
      search('route=movies&workflow=moviesWF&state=failed&client=demo&since=1h&until=2026-11-22T11:30&offset=25'),
    ).toEqual({
      filter: {
        route: 'movies',
        workflows: ['moviesWF'],
        statuses: ['FAILED'],
        clientId: 'demo',
        since: now - 3_600_000,
        until: Date.parse('2026-11-22T11:30:00Z'),
      },
      bounds: { limit: 25, maxScanned: 500, offset: 25, order: 'newest' },
    });
  });

  it.each(['2026-11-22T08:00', '2026-11-22 08:00', '2026-11-22 08:00:00', '2026-11-22 08:00Z', '2026-11-22 8:00'])(
    'reads the time %s as UTC',
    (until) => {
      vi.stubEnv('TZ', 'Asia/Kolkata');
      onTestFinished(() => void vi.unstubAllEnvs());
      expect(search(`until=${until}`)).toMatchObject({ filter: { until: Date.parse('2026-11-22T08:00Z') } });
    },
  );

  it.each([
    ["client=a'b", /^client: /],
    ['workflow=a AND status = RUNNING', /^workflow: /],
    ['id=a,b', /^id: /],
    ['state=constructor', /^state: /],
    ['until=soon', /^until: /],
    ['since=yesterday', /^since: /],
    ['asOf=2026-99-99', /^asOf: /],
    ['until=2026-11-22 25:00', /^until: /],
    ['until=2026-11-22 noon', /^until: /],
  ])('rejects %s', (query, problem) => {
    expect(search(query)).toEqual({ problems: [expect.stringMatching(problem)] });
  });

  it('on later pages, searches only up to the time of the first page', () => {
    const asOf = '2026-11-22T11:00:00.500Z';
    expect(search(`asOf=${asOf}`)).toMatchObject({ filter: { until: Date.parse(asOf) } });
    expect(search(`asOf=${asOf}&until=2026-11-22T10:00`)).toMatchObject({
      filter: { until: Date.parse('2026-11-22T10:00Z') },
    });
  });

  it.each(['-1', '1.5', 'x', '99999999999999999999'])('ignores the offset %s', (offset) => {
    expect(search(`offset=${offset}`)).toMatchObject({ bounds: { offset: 0 } });
  });
});

it('listAddress leaves out empty fields, and encodes the others', () => {
  expect(listAddress({})).toBe('/executions');
  expect(listAddress({ route: 'a&b', client: '', offset: 0 })).toBe('/executions?route=a%26b');
});

it('readOnly sends nothing but GET', async () => {
  const sent: string[] = [];
  const call = readOnly(async ({ method }) => {
    sent.push(method);
    return { status: 200, headers: {}, body: Buffer.alloc(0) };
  });
  await call({ method: 'GET', path: '/api/workflow/search' });
  for (const method of ['POST', 'PUT', 'DELETE'] as const)
    await expect(call({ method, path: '/api/workflow' })).rejects.toThrow(EngineError);
  expect(sent).toEqual(['GET']);
});
