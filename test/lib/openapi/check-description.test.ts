// Tests of the mistakes that are reported in back-end descriptions, and of valid descriptions that look like mistakes.

import { globSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readBackEndDescription } from '#lib/openapi/back-end-description.ts';
import { mistakesIn } from '#lib/openapi/check-description.ts';
import { rootDir } from '../../docs/pages.ts';

const own = { schemas: { Problem: {} } };
const mistakesOf = (text: string) => mistakesIn(parse(text, { merge: true }), own);

it('the descriptions of the product have no mistakes', () => {
  const files = globSync('config/openapi/*.yml', { cwd: rootDir });
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(mistakesIn(readBackEndDescription(file, rootDir).content, {}), file).toEqual([]);
});

it('a misspelt method → the path, the key and the fields of a path item', () => {
  expect(mistakesOf('paths: { /x: { psot: {}, get: {} }, "/y/{id}": { Summary: y } }')).toEqual([
    'paths./x: "psot" is not a field of a path item: write a method (get, post, put, patch, delete, options, head, trace), $ref, summary, description, servers or parameters, or begin your own field with x-',
    expect.stringMatching(/^paths\.\/y\/\{id\}: "Summary" is not a field of a path item: /),
  ]);
});

it('every field of OpenAPI 3.1, methods in capitals, extensions and empty parts → no mistake', () => {
  const fields = ['$ref: other.yml', 'summary: s', 'description: d', 'servers: []', 'parameters: []', 'x-owner: us'];
  const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'GET'].map(
    (name) => `${name}:`,
  );
  expect(mistakesOf(`paths:\n  /x: { ${[...fields, ...methods].join(', ')} }\n  /y:\n  x-own: { psot: 1 }\n`)).toEqual(
    [],
  );
  for (const text of ['', 'paths:', 'paths: 5', 'paths: { /x: text }']) expect(mistakesOf(text), text).toEqual([]);
});

it('a local $ref that does not resolve → its path and its target, once for an anchor', () => {
  const text = `
paths:
  /x:
    get:
      parameters: [{ $ref: '#/components/parameters/id' }]
      responses:
        2XX: &answer { content: { application/json: { schema: { $ref: '#/components/schemas/Missing' } } } }
        3XX: *answer
        default: { $ref: '#/components/responses/Missing' }
components:
  schemas:
    Thing: { properties: { default: { $ref: '#/components/schemas/toString' }, bad: { $ref: '#/%' } } }
  parameters: { q: { examples: { one: { $ref: '#/components/examples/one' } } } }
`;
  expect(mistakesOf(text)).toEqual([
    'paths./x.get.parameters[0]: there is no #/components/parameters/id in this file',
    'paths./x.get.responses.2XX.content.application/json.schema: there is no #/components/schemas/Missing in this file',
    'paths./x.get.responses.default: there is no #/components/responses/Missing in this file',
    'components.schemas.Thing.properties.default: there is no #/components/schemas/toString in this file',
    'components.schemas.Thing.properties.bad: there is no #/% in this file',
    'components.parameters.q.examples.one: there is no #/components/examples/one in this file',
  ]);
});

it.each([
  ['a name of digits', `components: { schemas: { '001': {}, A: { $ref: '#/components/schemas/001' } } }`],
  ['an item of a list', `x: [{}]\ncomponents: { schemas: { A: { $ref: '#/x/0' } } }`],
  ['a schema of the router', `components: { schemas: { A: { $ref: '#/components/schemas/Problem' } } }`],
  ['escaped steps', `paths: { '/x/{id}': {}, /y: { get: { a: { $ref: '#/paths/~1x~1%7Bid%7D' } } } }`],
  ['an index', `paths: { /x: { parameters: [{}], get: { parameters: [{ $ref: '#/paths/~1x/parameters/0' }] } } }`],
  ['the whole file, an anchor, another file', `x: [{ $ref: '#' }, { $ref: '#thing' }, { $ref: 'o.yml#/a' }]`],
  ['a property named $ref', `components: { schemas: { Link: { properties: { $ref: { type: string } } } } }`],
  ['an example', `components: { schemas: { Link: { example: { $ref: '#/no' }, default: { $ref: '#/no' } } } }`],
  ['examples', `components: { schemas: { Link: { examples: [{ $ref: '#/no' }] } } }`],
  ['the value of an example', `components: { examples: { one: { value: { $ref: '#/no' } } } }`],
  ['an enum', `components: { schemas: { Link: { enum: [{ $ref: '#/no' }], const: { $ref: '#/no' } } } }`],
  ['an extension', `paths: { /x: { x-own: { $ref: '#/no' } }, x-own: { $ref: '#/no' } }`],
  [
    'a schema with its own $id',
    `components: { schemas: { T: { $id: t, $defs: { a: {} }, not: { $ref: '#/$defs/a' } } } }`,
  ],
])('a $ref that is valid or is no reference: %s → no mistake', (_title, text) => expect(mistakesOf(text)).toEqual([]));

it('an alias inside its own anchor’s value, or thousands of aliases → the check ends', () => {
  const levels = Array.from({ length: 40 }, (_, level) => `  l${level + 1}: &l${level + 1} [*l${level}, *l${level}]`);
  const text = `x:\n  l0: &l0 { $ref: '#/none' }\n${levels.join('\n')}\n`;
  expect(mistakesIn(parse(text, { maxAliasCount: -1 }), own)).toEqual(['x.l0: there is no #/none in this file']);
});
