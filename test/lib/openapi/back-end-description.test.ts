// Tests of back-end descriptions that are valid OpenAPI but contain more than operations, or empty parts.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { notRoutedBelow, operationsBelow, readBackEndDescription } from '#lib/openapi/back-end-description.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'back-end-description-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function describe(text: string) {
  writeFileSync(join(dir, 'be.yml'), text);
  return readBackEndDescription('be.yml', dir);
}

const endpoint = { templates: ['/cat/x/{id}'], methods: ['GET', 'PATCH'] as const };

it('a path item with parameters and other fields → only its methods are operations', () => {
  const description = describe(`
paths:
  /x/{id}:
    summary: One x
    description: An x.
    servers: [{ url: / }]
    x-owner: us
    parameters: [{ name: id, in: path, required: true }]
    get: { summary: Read }
    patch: { summary: Change }
`);
  expect(notRoutedBelow(description, '/cat', endpoint)).toEqual([]);
  expect(operationsBelow(description, '/cat').map(({ method }) => method)).toEqual(['GET', 'PATCH']);
});

it('parameters of the path → before those of the operation, unless name and location are the same', () => {
  const description = describe(`
paths:
  /x/{id}:
    parameters:
      - { name: id, in: path, required: true }
      - { name: limit, in: query, description: of the path }
      - { name: limit, in: header }
    get:
      parameters: [{ name: limit, in: query }, { name: q, in: query }]
    patch:
`);
  const [get, patch] = operationsBelow(description, '/cat').map(({ operation }) => operation.parameters);
  expect(get).toEqual([
    { name: 'id', in: 'path', required: true },
    { name: 'limit', in: 'header' },
    { name: 'limit', in: 'query' },
    { name: 'q', in: 'query' },
  ]);
  expect(patch?.map((parameter) => `${parameter.in} ${parameter.name}`)).toEqual([
    'path id',
    'query limit',
    'header limit',
  ]);
});

it('HEAD → not an operation of its own, because GET implies it', () => {
  const description = describe('paths: { "/x/{id}": { get: {}, head: {} } }');
  expect(notRoutedBelow(description, '/cat', endpoint)).toEqual([]);
});

it('an empty path item, parameter list or components object → no operations, and no error', () => {
  const description = describe('paths:\n  /x:\n  /y:\n    parameters:\ncomponents:\n');
  expect(operationsBelow(description, '/cat')).toEqual([]);
  expect(description.components).toEqual({});
});

it('accepts an anchor that thousands of aliases use', () => {
  const paths = Array.from({ length: 2_000 }, (_, index) => `  /x/${index}: *item\n`).join('');
  const description = describe(`paths:\n  /x: &item { get: { summary: Read } }\n${paths}`);
  expect(operationsBelow(description, '/cat')).toHaveLength(2_001);
});

it.each(['paths:\n', 'components: {}\n', ''])('%j → an error that the file has no paths', (text) => {
  expect(() => describe(text)).toThrow('be.yml has no paths');
});

/** A file that keeps everything in components, as many generators do. */
const generated = `
paths:
  /x/{id}:
    parameters: [{ $ref: '#/components/parameters/id' }]
    get:
      parameters: [{ $ref: '#/components/parameters/limit' }, { $ref: '#/components/parameters/sort' }]
      responses:
        '200': { $ref: '#/components/responses/Page' }
        default: { $ref: '#/components/responses/Page', description: Anything else. }
    patch: { requestBody: { $ref: '#/components/requestBodies/Change' } }
  /y: { $ref: '#/paths/~1x~1{id}' }
components:
  parameters:
    id: { name: id, in: path, required: true }
    limit: { name: limit, in: query, schema: { $ref: '#/components/schemas/Count' } }
    sort: { name: sort, in: query, examples: { up: { $ref: '#/components/examples/up' } } }
  examples: { up: { value: { $ref: '#/components/examples/none' } } }
  headers: { Next: { schema: { type: string } } }
  responses:
    Page:
      description: A page.
      headers: { Next: { $ref: '#/components/headers/Next' }, X: { $ref: '#/components/headers/XRequestId' } }
      content: { application/json: { schema: { $ref: '#/components/schemas/Page' } } }
  requestBodies: { Change: { content: { application/json: { example: { $ref: a } } } } }
  schemas:
    Count: { type: integer }
    Page: { properties: { $ref: { type: string }, next: { $ref: '#/components/schemas/Page' } } }
`;

it('references to components → replaced by the components, except schemas and those that the file does not have', () => {
  const description = describe(generated);
  const [get, patch, getY] = operationsBelow(description, '').map(({ operation }) => operation);
  const page = {
    description: 'A page.',
    headers: { Next: { schema: { type: 'string' } }, X: { $ref: '#/components/headers/XRequestId' } },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Page' } } },
  };
  expect(get).toEqual({
    parameters: [
      { name: 'id', in: 'path', required: true },
      { name: 'limit', in: 'query', schema: { $ref: '#/components/schemas/Count' } },
      { name: 'sort', in: 'query', examples: { up: { value: { $ref: '#/components/examples/none' } } } },
    ],
    responses: { 200: page, default: { ...page, description: 'Anything else.' } },
  });
  expect(patch?.requestBody).toEqual({ content: { 'application/json': { example: { $ref: 'a' } } } });
  expect(getY).toEqual(get);
  expect(description.components).toEqual({
    schemas: {
      Count: { type: 'integer' },
      Page: { properties: { $ref: { type: 'string' }, next: { $ref: '#/components/schemas/Page' } } },
    },
  });
});

it.each([
  ['a schema outside of components', "definitions: { T: { not: { $ref: '#/definitions/T' } } }", '#/definitions/T'],
  [
    'two schemas',
    "definitions: { T: { not: { $ref: '#/u' } } }\nu: { not: { $ref: '#/definitions/T' } }",
    '#/definitions/T',
  ],
])('a reference that leads back to itself, through %s → an error', (_title, text, reference) => {
  const path = `paths: { /x: { get: { a: { $ref: '#/definitions/T' } } } }\n`;
  expect(() => describe(`${path}${text}\n`)).toThrow(`be.yml: ${reference} refers to itself: move the schema`);
});

it('a schema with its own $id, and an alias inside its own anchor’s value → unchanged', () => {
  const schema = { $id: 't', $defs: { a: {} }, not: { $ref: '#/$defs/a' } };
  const text = `paths: { /x: }\ncomponents: { schemas: { T: ${JSON.stringify(schema)}, U: &u { not: *u } } }\n`;
  const { T: first, U: second } = describe(text).components.schemas ?? {};
  expect(first).toEqual(schema);
  expect(second).toHaveProperty('not.not');
});
