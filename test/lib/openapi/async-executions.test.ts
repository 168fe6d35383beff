// Tests that the OpenAPI document describes how Prefer, Idempotency-Key, limits and /executions affect responses.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument, Operation, Response, Responses } from '#lib/openapi/openapi.ts';
import { acceptedBeside } from '../../../plugins/conductor/async-executions/describe-async.ts';
import { describeVersions } from '../../../plugins/conductor/versions/describe-versions.ts';
import { describeWorkflow } from '../../../plugins/conductor/workflow/describe-workflow.ts';
import { type DescribedRouter, startDescribedRouter } from '../../gateway/local-router.ts';

let router: DescribedRouter;
let document: OpenApiDocument;

beforeAll(async () => {
  router = await startDescribedRouter();
  document = (await router.ask('/openapi.json')).json<OpenApiDocument & Record<string, unknown>>();
});
afterAll(() => router?.stop());

const one = { shares: new Map([[1, 1]]), isSplit: false };
const person = '/adaptor/{mis}/mock/colleges/{college}/persons/{sisPersonId}';
const operationOf = (path: string, method: string): Operation => {
  const operation = document.paths[path]?.[method];
  if (operation === undefined) throw new Error(`the document has no ${method} ${path}`);
  return operation;
};
const headerParametersOf = ({ parameters = [] }: Operation) =>
  parameters.filter((each) => each.in === 'header').map(({ name }) => name);
const byOrderOf = (all: readonly string[]) => (one: string, other: string) => all.indexOf(one) - all.indexOf(other);
const headersOf = ({ responses = {} }: Operation, status: string) => {
  const response = (responses as Responses)[status];
  const { $ref } = response as { $ref?: string };
  const resolved = $ref === undefined ? response : document.components.responses?.[$ref.split('/').at(-1) ?? ''];
  return (resolved as Response).headers ?? {};
};
/** Resolves a reference to a header field. */
const resolved = (header: object | undefined) =>
  header !== undefined && '$ref' in header
    ? document.components.headers?.[String(header.$ref).split('/').at(-1) ?? '']
    : header;
const responseOf = ({ responses = {} }: Operation, status: string) => (responses as Record<string, Response>)[status];
/** Returns the problem codes of a status, from the name of its response component. */
const codesOf = ({ responses = {} }: Operation, status: string) => {
  const { $ref = '' } = ((responses as Responses)[status] ?? {}) as { $ref?: string };
  // If several components would have the same name, a number is appended to it.
  return ($ref.split('/').at(-1)?.split('.') ?? []).filter((part) => !/^[0-9]*$/.test(part));
};

describe('the document of a route with a workflow', () => {
  it('a read: takes Prefer, may get 202 with its header fields, and takes no Idempotency-Key', () => {
    const read = operationOf(person, 'get');
    expect(headerParametersOf(read)).toEqual(['Prefer']);
    expect(Object.keys(responseOf(read, '202')?.headers ?? {})).toEqual(
      expect.arrayContaining(['Location', 'Retry-After', 'Preference-Applied', 'X-Execution-Id', 'Server-Timing']),
    );
    expect(responseOf(read, '200')?.headers).not.toHaveProperty('Idempotency-Replayed');
    expect(codesOf(read, '409')).toEqual(['execution-cancelled']);
  });

  it('a write: takes an optional Idempotency-Key, and lists the problems that the key may cause', () => {
    const write = operationOf(person, 'patch');
    expect(headerParametersOf(write)).toEqual(['Prefer', 'Idempotency-Key']);
    expect(write.parameters?.find(({ name }) => name === 'Idempotency-Key')).not.toHaveProperty('required');
    expect(responseOf(write, '200')?.headers).toHaveProperty('Idempotency-Replayed');
    expect(codesOf(write, '400')).toEqual(['malformed-idempotency-key', 'malformed-request']);
    expect(codesOf(write, '409')).toEqual(['execution-cancelled', 'idempotency-key-in-use']);
    expect(codesOf(write, '422')).toEqual(['idempotency-key-reused']);
    expect(codesOf(write, '503')).toContain('idempotency-unavailable');
  });

  it('a write on a route that requires a key: the parameter is required, and its absence is a problem', () => {
    const { operation } = describeWorkflow(
      { compresses: false, strip: '/a', idempotencyKey: 'required' },
      describeVersions(one, undefined),
    );
    const described = operation?.({ method: 'POST', path: '/a' });
    expect(described?.problems).toContain('idempotency-key-missing');
    expect(described?.parameters).toContainEqual(expect.objectContaining({ name: 'Idempotency-Key', required: true }));
  });

  it('a limit: RateLimit fields on responses from the back end, and the problem limits-unavailable', () => {
    const read = operationOf(person, 'get');
    for (const field of ['RateLimit', 'RateLimit-Policy'])
      expect(responseOf(read, '200')?.headers, field).toHaveProperty(field);
    expect(codesOf(read, '503')).toContain('limits-unavailable');
  });

  it('header fields of problems: only those of policies that the request has already passed', () => {
    const write = operationOf(person, 'patch');
    const limits = ['RateLimit', 'RateLimit-Policy'];
    const later = [...limits, 'Server-Timing', 'Idempotency-Replayed'];
    const none: string[] = [];
    // 401 comes from an earlier policy, and 408 from the server. The workflow policy reads the idempotency key. Any
    // part may cause 500.
    const expected = { 400: later, 401: none, 408: none, 409: later, 413: later, 429: limits, 500: later, 504: later };
    for (const [status, fields] of Object.entries(expected)) {
      const headers = headersOf(write, status);
      expect([status, later.filter((field) => field in headers)]).toEqual([status, fields.toSorted(byOrderOf(later))]);
      for (const field of fields) expect(resolved(headers[field]), `${status} ${field}`).not.toHaveProperty('required');
    }
    expect(headersOf(operationOf('/token/v1/token', 'post'), '429')).not.toHaveProperty('RateLimit');
  });
});

describe('the document of a route with versions', () => {
  const several = { shares: new Map([[1, 10], [2, 90]]), isSplit: true } as const; // prettier-ignore
  const described = (scope?: string) =>
    describeWorkflow({ compresses: false, strip: '/a' }, describeVersions(several, scope)).operation?.({
      method: 'GET',
      path: '/a',
    });

  it('has the parameter with the versions and the scope, its problems, and the header field on every response', () => {
    const { parameters, problems, headers, problemHeaders } = described('choose') ?? {};
    const parameter = parameters?.find(({ name }) => name === 'X-Workflow-Version');
    expect(parameter).toMatchObject({ in: 'header', schema: { enum: ['1', '2'] } });
    expect(parameter?.description).toContain('Only with the scope `choose`.');
    expect(problems).toEqual(expect.arrayContaining(['workflow-version-forbidden', 'unknown-workflow-version']));
    expect(headers).toMatchObject({ 'X-Workflow-Version': { $ref: '#/components/headers/XWorkflowVersion' } });
    expect(problemHeaders).toHaveProperty('X-Workflow-Version');
  });

  it('no scope is configured: no client may choose a version', () => {
    expect(described()?.parameters?.find(({ name }) => name === 'X-Workflow-Version')?.description).toContain(
      'No client may choose',
    );
  });

  it('a route with one version: has no parameter, problem or header field for versions', () => {
    expect(describeVersions(one, 'choose')).toEqual({ problems: [], parameters: [], headers: {}, problemHeaders: {} });
  });
});

describe('the document of /executions', () => {
  it('GET and DELETE of one execution: both return its state, and each lists its own problems', () => {
    const [look, cancel] = [operationOf('/executions/{id}', 'get'), operationOf('/executions/{id}', 'delete')];
    expect(headerParametersOf(look)).toEqual(['Prefer']);
    expect(headerParametersOf(cancel)).toEqual([]);
    for (const operation of [look, cancel]) {
      expect(responseOf(operation, '200')?.content).toEqual({
        'application/json': { schema: { $ref: '#/components/schemas/Execution' } },
      });
      expect(codesOf(operation, '404')).toEqual(['execution-unknown']);
      expect(operation.security).toEqual([{ accessToken: [] }]);
    }
    expect(codesOf(cancel, '409')).toEqual(['execution-ended', 'execution-under-way']);
    expect(codesOf(look, '409')).toEqual([]);
  });

  it('the response of an execution: any back-end response, compressed if accepted, or any possible problem', () => {
    const response = operationOf('/executions/{id}/response', 'get');
    expect(responseOf(response, 'default')?.headers).toHaveProperty('Content-Encoding');
    expect(codesOf(response, '404')).toEqual(['answer-pending', 'execution-unknown', 'unknown-college']);
    // idempotency-key-in-use: the execution was superseded by another one with the same key.
    expect(codesOf(response, '409')).toEqual(['execution-cancelled', 'idempotency-key-in-use']);
    expect(codesOf(response, '504')).toEqual(['back-end-timeout', 'execution-timed-out', 'wait-budget-spent']);
  });
});

describe('202', () => {
  it('a response that the back end does not describe: has the header fields of the router', () => {
    expect(acceptedBeside(undefined).headers).toHaveProperty('Location', { $ref: '#/components/headers/Location' });
  });

  it('a response that the back end also describes: either body, and fields of only one response are optional', () => {
    const own: Response = { description: 'Queued.', content: { 'application/json': { schema: { type: 'array' } } } };
    const { description, headers, content } = acceptedBeside(own);
    expect(description).toContain('Queued.');
    expect(headers).toHaveProperty('Location', { $ref: '#/components/headers/LocationOptional' });
    expect(content?.['application/json']?.schema).toEqual({
      anyOf: [{ $ref: '#/components/schemas/Execution' }, { type: 'array' }],
    });
  });
});
