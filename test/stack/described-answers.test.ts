// Tests that the checker of responses finds everything that a document does not describe; otherwise, contract tests
// could not fail.

import { expect, it } from 'vitest';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import type { RouterAnswer } from './client.ts';
import { createAnswerChecker } from './described-answers.ts';

const header = { description: '', required: true, schema: { type: 'string', pattern: '^[a-z]+$' } };
const schema = { type: 'object', required: ['title'], properties: { title: { type: 'string' } } };
const problem = { type: 'object', required: ['status'], properties: { status: { const: 404 } } };
const film = {
  description: '',
  headers: { 'X-Request-Id': { $ref: '#/components/headers/Id' } },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Film' } } },
};
const document = {
  openapi: '3.1.0',
  paths: {
    '/movies/{title}': { get: { responses: { 200: film } } },
    '/any/{path}': { get: { responses: { default: { description: '', content: { '*/*': {} } } } } },
    '/any/{path}/fixed': { get: { responses: { 204: { description: '' } } } },
  },
  components: {
    schemas: { Film: schema, Problem: problem },
    headers: { Id: header },
    responses: {
      Absent: {
        description: '',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  },
  'x-not-routed': { responses: { 404: { $ref: '#/components/responses/Absent' } } },
} as unknown as OpenApiDocument;
const checker = createAnswerChecker(document);

function answer(status: number, body: string, headers: RouterAnswer['headers'] = {}): RouterAnswer {
  const usual = { 'x-request-id': 'abc', 'content-type': 'application/json; charset=utf-8' };
  return {
    status,
    headers: { ...usual, ...headers },
    bytes: Buffer.from(body),
    text: body,
    json: () => JSON.parse(body),
  };
}
const get = { method: 'GET', path: '/movies/a%20b?x=/y' };

it('a response that is described → nothing is reported', () => {
  expect(checker.check(get, answer(200, '{"title":"a b"}'))).toEqual([]);
  expect(checker.check({ ...get, method: 'HEAD' }, answer(200, ''))).toEqual([]);
  expect(checker.check({ method: 'GET', path: '/any/a/b' }, answer(418, 'x', { 'content-type': 'a/b' }))).toEqual([]);
});

it.each([
  ['another status', answer(201, '{"title":"x"}'), /^status 201/],
  [
    'a header field that is missing',
    answer(200, '{"title":"x"}', { 'x-request-id': undefined }),
    /X-Request-Id is missing/,
  ],
  ['a header field with a wrong value', answer(200, '{"title":"x"}', { 'x-request-id': '1' }), /X-Request-Id is "1"/],
  ['another content type', answer(200, 'x', { 'content-type': 'text/plain' }), /content type text\/plain/],
  ['a body with a wrong type', answer(200, '{"title":1}'), /^body\/title: must be string/],
  ['a body that is not JSON', answer(200, 'title'), /^body: must be object/],
])('%s → reported in one line', (_title, found, line) => {
  expect(checker.check(get, found)).toEqual([expect.stringMatching(line)]);
});

it('a path or method that is not an operation → only responses that x-not-routed describes pass', () => {
  const nowhere = { method: 'GET', path: '/nowhere' };
  const type = { 'content-type': 'application/problem+json' };
  expect(checker.check(nowhere, answer(404, '{"status":404}', type))).toEqual([]);
  expect(checker.check(nowhere, answer(404, '{"status":405}', type))).toHaveLength(1);
  expect(checker.check({ ...get, method: 'PUT' }, answer(200, '{"title":"x"}'))).toHaveLength(1);
});

it('two templates match the path → the more specific one decides', () => {
  expect(checker.check({ method: 'GET', path: '/any/a/fixed' }, answer(204, ''))).toEqual([]);
  expect(checker.check({ method: 'GET', path: '/any/a/fixed' }, answer(200, ''))).toHaveLength(1);
  expect(checker.operationOf({ method: 'GET', path: '/any/a/fixed/b' })?.template).toBe('/any/{path}');
});
