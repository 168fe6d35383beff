// Tests of which MIS codes are refused because the router's configuration has no adaptor for them.

import { describe, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { checkAdaptor } from '../../../plugins/limits/mis-codes.ts';

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
    ['with a task domain, whose workers know its address', '002', { ...one, 'adaptor.002.domain': '002' }],
    ['without an address of its own where adaptor.url serves all', '999', { ...one, 'adaptor.url': 'http://all' }],
    ['that only the workers can know: the router has no address', '999', {}],
    ['that only the workers can know: the router has only domains', '999', { 'adaptor.002.domain': '002' }],
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
