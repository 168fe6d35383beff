// Tests of choosing a version by header: which clients may do so, and which values are valid.

import { describe, expect, it } from 'vitest';
import { requestedVersion } from '../../../../plugins/conductor/versions/requested-version.ts';
import { Problem } from '#lib/problem/problem.ts';

const scope = 'choose';
const ask = (value: string | string[] | undefined, granted: string[] = [scope], of: string | undefined = scope) =>
  requestedVersion(
    { headers: value === undefined ? {} : { 'x-workflow-version': value } },
    { scopes: new Set(granted) },
    { versions: [1, 2, 12], scope: of },
  );
const problemOf = (run: () => unknown): Problem => {
  try {
    run();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('no problem');
};

describe('requestedVersion', () => {
  it('without the header field: no version, for any client', () => {
    expect([ask(undefined), ask(undefined, []), ask(undefined, [], '')]).toEqual([undefined, undefined, undefined]);
  });

  it.each([1, 2, 12])('version %i of the gateway configuration, with the scope: chosen', (version) => {
    expect(ask(String(version))).toBe(version);
  });

  it.each<[string, string | string[]]>([
    ['one that is not in the gateway configuration', '3'],
    ['zero', '0'],
    ['negative', '-1'],
    ['a fraction', '1.0'],
    ['with a leading zero', '01'],
    ['with a sign', '+1'],
    ['in another notation', '1e0'],
    ['a word', 'two'],
    ['with a leading letter', 'v2'],
    ['empty', ''],
    ['a list', '1, 2'],
    ['two fields', ['1', '2']],
    ['other digits', '２'],
    ['very long', '1'.repeat(10_000)],
    ['the name of a property that every object has', 'constructor'],
  ])('%s: 400 that names the versions', (_, value) => {
    const problem = problemOf(() => ask(value));
    expect([problem.code, problem.status]).toEqual(['unknown-workflow-version', 400]);
    expect(problem.detail).toBe('This path has the versions 1, 2, 12.');
  });

  it.each(['1', '3', 'two'])('%s without the scope: 403 that names the scope, and no version', (value) => {
    const problem = problemOf(() => ask(value, ['other']));
    expect([problem.code, problem.status, problem.detail]).toEqual([
      'workflow-version-forbidden',
      403,
      'Required: choose',
    ]);
    expect(problem.headers['www-authenticate']).toBe(
      'Bearer realm="service-router", error="insufficient_scope", error_description="The scope to choose a version is missing", scope="choose"',
    );
  });

  it('no scope is configured: 403 that names no scope, for every client', () => {
    const read = () =>
      requestedVersion(
        { headers: { 'x-workflow-version': '1' } },
        { scopes: new Set(['undefined', '']) },
        {
          versions: [1],
          scope: undefined,
        },
      );
    expect(problemOf(read)).toMatchObject({ code: 'workflow-version-forbidden', headers: {} });
  });

  it('a request without a token: 403', () => {
    const read = () => requestedVersion({ headers: { 'x-workflow-version': '1' } }, {}, { versions: [1], scope });
    expect(problemOf(read).status).toBe(403);
  });
});
