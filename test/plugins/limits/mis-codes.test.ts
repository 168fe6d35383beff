// Tests of the mis-codes policy: which MIS codes are refused because no adaptor is configured for them, and which
// colleges a path names.

import { describe, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { checkAdaptor, misCodesDeclaration } from '../../../plugins/limits/mis-codes.ts';

const isRefused = (code: string, keys: Record<string, string>) => {
  try {
    checkAdaptor({ 'adaptor.workflowVersion': 2, 'movies.url': 'http://m', ...keys } as unknown as Config, code);
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'unknown-college', status: 404 });
    return true;
  }
};
const one = { 'adaptor.001.url': 'http://one' };

describe('an MIS code', () => {
  it.each([
    ['with an address of its own', '001', one],
    ['with a task domain whose workers know its address', '002', { ...one, 'adaptor.002.domain': '002' }],
    ['without an address of its own where adaptor.url serves all', '999', { ...one, 'adaptor.url': 'http://all' }],
    ['whose address only workers know, because the router has none,', '999', {}],
    ['whose address only workers know, because the router has only domains,', '999', { 'adaptor.002.domain': '002' }],
  ])('%s is not refused', (_title, code, keys) => {
    expect(isRefused(code, keys)).toBe(false);
  });

  it.each(['999', '01', '', '__proto__', 'constructor', '001.url', '001 ', 'workflowVersion'])(
    '%j, which has no address while others have one, is refused',
    (code) => {
      expect(isRefused(code, one)).toBe(true);
    },
  );
});

describe('a path of a client that may name only 001', () => {
  const config = { 'client.one.misCodes': ['001'] } as unknown as Config;
  const judge = (segments: string) =>
    misCodesDeclaration.judge?.(
      { parameter: 'mis', after: 'colleges' } as never,
      {
        ...{ clientId: 'one', scopes: new Set<string>(), method: 'GET' },
        ...{ path: `/adaptor/001/${segments}`, params: { mis: '001' } },
      },
      config,
    );

  it.each(['colleges./002', '...colleges%20. /002', '%09colleges/002'])(
    '%s names 002, because some servers strip dots and spaces from the ends of a segment',
    (segments) => {
      expect(judge(segments)?.status).toBe(403);
    },
  );

  it.each(['col.leges/002', '.../002', 'x%20colleges/002'])('%s does not name 002', (segments) => {
    expect(judge(segments)).toBeUndefined();
  });

  it('of 1 MB takes linear time; quadratic time would take minutes', () => {
    const startedAt = performance.now();
    expect(judge(`x${'.'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
