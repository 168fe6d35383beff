// Tests that the OpenAPI document is valid and describes the whole gateway configuration and all problems, and nothing
// that does not exist.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { notRoutedBelow, readBackEndDescription } from '#lib/openapi/back-end-description.ts';
import { buildInSteps } from '#lib/openapi/build-document.ts';
import type { Description } from '#lib/openapi/description.ts';
import type { OpenApiDocument, Operation } from '#lib/openapi/openapi.ts';
import { templatePattern, templateOf } from '#lib/openapi/templates.ts';
import { collegeOne } from '../../../dev/back-ends/seed/college-001.ts';
import { collegeTwo } from '../../../dev/back-ends/seed/college-002.ts';
import { createSyncs } from '../../../dev/back-ends/seed/data-warehouse.ts';
import { movies } from '../../../dev/back-ends/seed/movies.ts';
import { problemKinds } from '#lib/problem/catalogue.ts';
import { rootDir } from '../../docs/pages.ts';
import { type DescribedRouter, startDescribedRouter } from '../../gateway/local-router.ts';

let router: DescribedRouter;
let document: OpenApiDocument;
let operations: { name: string; operation: Operation }[];

beforeAll(async () => {
  router = await startDescribedRouter();
  document = (await router.ask('/openapi.json')).json<OpenApiDocument & Record<string, unknown>>();
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  );
});
afterAll(() => router?.stop());

interface Map {
  apiEndpoints: Record<string, { paths: string | string[]; methods?: string[] }>;
}

describe('the document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect({ valid, errors }).toMatchObject({ valid: true });
    expect(document.openapi).toBe('3.1.0');
  });

  it('has operations at every path and method of gateway.config.yml, and nowhere else', () => {
    const { apiEndpoints } = parse(readFileSync(join(rootDir, 'gateway.config.yml'), 'utf8')) as Map;
    const endpoints = Object.entries(apiEndpoints).map(([name, { paths, methods }]) => ({
      name,
      patterns: [paths].flat().map((path) => templatePattern(templateOf(path))),
      methods: methods?.map((method) => method.toLowerCase()),
    }));
    for (const { name, operation } of operations) {
      const [method = '', path = ''] = name.split(' ');
      const endpoint = endpoints.find(({ name: tag }) => tag === operation.tags?.[0]);
      expect(
        endpoint?.patterns.some((pattern) => pattern.test(path)),
        name,
      ).toBe(true);
      expect(endpoint?.methods ?? [method], name).toContain(method);
    }
    for (const { name, patterns } of endpoints) {
      const paths = operations.filter(({ operation }) => operation.tags?.includes(name)).map((each) => each.name);
      expect(paths.length, name).toBeGreaterThanOrEqual(patterns.length);
    }
  });

  it('lists routed requests without a description under one path, with every method in its summary', () => {
    const adaptor = operations.filter(({ name }) => /^\w+ \/adaptor\/\{mis\}(\/\{path\})?$/.test(name));
    const [shown, ...others] = adaptor.filter(({ operation }) => operation['x-listed-under'] === undefined);
    expect([shown?.name, others]).toEqual(['get /adaptor/{mis}/{path}', []]);
    expect(shown?.operation.summary).toBe('Any other path: GET, POST, PUT, PATCH, DELETE, OPTIONS');
    expect(adaptor).toHaveLength(12);
    for (const { operation } of adaptor.filter(({ name }) => name !== shown?.name))
      expect(operation['x-listed-under']).toBe('/adaptor/{mis}/{path}');
  });

  it('names every possible problem, with its status, in a response of some operation', () => {
    const described = Object.entries(document.components.responses ?? {}).flatMap(([name]) => name.split('.'));
    const inline = JSON.stringify(operations);
    const absent = Object.keys(problemKinds).filter(
      (code) => !described.includes(code) && !inline.includes(`problem.${code}"`),
    );
    // No route of the gateway configuration requires a key or has several versions: see async-executions.test.ts.
    expect(absent).toEqual(['idempotency-key-missing', 'unknown-workflow-version', 'workflow-version-forbidden']);
    for (const [code, { status, title }] of Object.entries(problemKinds)) {
      expect(document.components.schemas?.[`problem.${code}`]).toMatchObject({
        properties: { type: { const: `/problems/${code}` }, title: { const: title }, status: { const: status } },
      });
    }
  });

  it('has a unique id and defined security schemes for every operation, and only references that resolve', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const known = Object.keys(document.components.securitySchemes ?? {});
    const used = operations.flatMap(({ operation }) => (operation.security ?? []).flatMap((each) => Object.keys(each)));
    expect(known).toEqual(expect.arrayContaining(used));
    for (const [, kind, name] of JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g))
      expect(document.components, `${kind}/${name}`).toHaveProperty([kind!, name!]);
  });

  it('requires the token and the scopes that the policies require', () => {
    const { securitySchemes } = document.components;
    expect(securitySchemes?.['accessToken']).toMatchObject({
      type: 'oauth2',
      flows: {
        clientCredentials: {
          tokenUrl: '/token/v1/token',
          scopes: {
            sisdata_W: expect.any(String),
            conductor_worker: expect.any(String),
            conductor_admin: expect.any(String),
          },
        },
      },
    });
    const person = document.paths['/adaptor/{mis}/mock/colleges/{college}/persons/{sisPersonId}'];
    expect(person?.['get']?.security).toEqual([{ accessToken: [] }]);
    expect(person?.['patch']?.security).toEqual([{ accessToken: ['sisdata_W'] }]);
    expect(document.paths['/conductor/api/tasks/poll/{taskType}']?.['get']?.security).toEqual([
      { accessToken: ['conductor_worker'] },
      { conductorToken: ['conductor_worker'] },
    ]);
    expect(document.paths['/problems']?.['get']?.security).toEqual([]);
  });

  it('describes the calls of workers for clients without an SDK: parameters, bodies, responses, problems', () => {
    const at = (path: string, method: string) => document.paths[`/conductor/api/${path}`]?.[method];
    const poll = at('tasks/poll/batch/{taskType}', 'get');
    expect(poll?.parameters?.map(({ name }) => name)).toEqual(['taskType', 'count', 'timeout', 'domain', 'workerid']);
    expect(poll?.responses?.['200']).toMatchObject({
      content: { 'application/json': { schema: { items: { $ref: '#/components/schemas/conductor.Task' } } } },
    });
    expect(Object.keys(poll?.responses ?? {})).toEqual(expect.arrayContaining(['400', '401', '403', '503']));
    expect(poll?.responses).not.toHaveProperty('default');
    const schema = { $ref: '#/components/schemas/conductor.TaskResult' };
    for (const path of ['tasks', 'tasks/update-v2'])
      expect(at(path, 'post')?.requestBody).toEqual({ required: true, content: { 'application/json': { schema } } });
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'document');
    const validate = ajv.compile({ $ref: 'document#/components/schemas/conductor.TaskResult' });
    const ids = { taskId: 't', workflowInstanceId: 'w' };
    const completed = { ...ids, status: 'COMPLETED', outputData: { outbound: { statusCodeValue: 404 } } };
    expect(validate(completed)).toBe(true);
    expect(validate({ ...completed, outputData: { outbound: {} } })).toBe(false);
    expect(validate({ ...ids, status: 'DONE' })).toBe(false);
  });

  it.each([
    ['Person', [...collegeOne.persons, ...collegeTwo.persons]],
    ['Term', [...collegeOne.terms, ...collegeTwo.terms]],
    ['Section', [...collegeOne.sections, ...collegeTwo.sections]],
    ['DataSync', createSyncs([collegeOne, collegeTwo], new Date())],
    ['Movie', movies],
  ])('%s has all fields of the records that the back ends are seeded with, and no others', (name, records) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'document');
    const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` });
    const { properties } = document.components.schemas![name] as { properties: Record<string, unknown> };
    for (const record of records) {
      expect(validate(record), JSON.stringify(validate.errors)).toBe(true);
      expect(Object.keys(record).toSorted()).toEqual(Object.keys(properties).toSorted());
    }
  });
});

describe('errors in back-end descriptions and in the gateway configuration', () => {
  const movie = readBackEndDescription('config/openapi/movies.yml', rootDir);

  it('an operation that is not routed → an error that names file, method and path', () => {
    const endpoint = { templates: ['/movies/{title}'], methods: ['POST'] as const };
    expect(notRoutedBelow(movie, '/movies', endpoint)).toEqual([
      'config/openapi/movies.yml: gateway.config.yml does not route GET /movies/{title}',
    ]);
    const elsewhere = { templates: ['/films/{title}'], methods: ['GET'] as const };
    expect(notRoutedBelow(movie, '/movies', elsewhere)).toHaveLength(1);
    expect(notRoutedBelow(movie, '/films', elsewhere)).toEqual([]);
  });

  it('a file that does not exist → an error that names it', () => {
    expect(() => readBackEndDescription('config/openapi/nowhere.yml', rootDir)).toThrow(
      'config/openapi/nowhere.yml cannot be read',
    );
  });

  it('one schema name with two meanings → an error that names it', () => {
    const endpoint = (name: string, type: string) => ({
      name,
      templates: [`/${name}`],
      methods: ['GET'] as const,
      policies: [{ operation: () => ({ components: { schemas: { Thing: { type } } } }) }],
    });
    expect(() => [...buildInSteps([endpoint('a', 'string'), endpoint('b', 'number')], '1')]).toThrow('Thing');
  });

  it('one schema name with two meanings in descriptions of back ends → an error that names their files', () => {
    const schemas = (type: string) => ({ schemas: { Thing: { type } } });
    const endpoint = (name: string, description: Description) => ({
      name,
      templates: [`/${name}`],
      methods: ['GET'] as const,
      policies: [{ operation: () => description }],
    });
    const build = (...descriptions: Description[]) => [
      ...buildInSteps(
        descriptions.map((each, index) => endpoint(`e${index}`, each)),
        '1',
      ),
    ];
    const one = { backEnd: { file: 'config/openapi/a.yml', components: schemas('string') } };
    const other = { backEnd: { file: 'config/openapi/b.yml', components: schemas('number') } };
    expect(() => build(one, other)).toThrow(
      'two descriptions have a schema named Thing: config/openapi/a.yml and config/openapi/b.yml; rename one of the two schemas',
    );
    const ofPolicy = { components: schemas('boolean') };
    expect(() => build(ofPolicy, other)).toThrow(/: the description of a policy and config\/openapi\/b\.yml; rename/);
    expect(() => build({ ...one, components: schemas('number') })).toThrow('Thing: the description of a policy and');
    expect(() => build(one, { backEnd: { ...other.backEnd, ...{ components: schemas('string') } } })).not.toThrow();
  });

  it.each(['/a/:b?', '/a/*/b', '/a/(.*)', '/:a-:b'])('the pattern %s has no path template → an error', (pattern) => {
    expect(() => templateOf(pattern)).toThrow(pattern);
  });
});
