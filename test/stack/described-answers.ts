// Checks whether the OpenAPI document describes a response from the router: its status, header fields and body.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Operation, OpenApiDocument, Response, Responses } from '#lib/openapi/openapi.ts';
import { templatePattern } from '#lib/openapi/templates.ts';

/** The request to which a checked response belongs. */
export interface Asked {
  readonly method: string;
  /** The request target as sent. */
  readonly path: string;
}

/** The checked parts of a response. */
export interface ReceivedAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

export interface AnswerChecker {
  /** Returns one line for each property of the response that the document does not describe. */
  check(asked: Asked, answer: ReceivedAnswer): string[];
  /** Returns the operation of a request; undefined when there is none. */
  operationOf(asked: Asked): { template: string; operation: Operation } | undefined;
}

interface Route {
  readonly template: string;
  readonly pattern: RegExp;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Creates a checker for the responses of one router. */
export function createAnswerChecker(document: OpenApiDocument): AnswerChecker {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, 'document');
  const routes: Route[] = Object.entries(document.paths)
    .map(([template, operations]) => ({ template, pattern: templatePattern(template), operations }))
    .sort((one, other) => vaguenessOf(one.template) - vaguenessOf(other.template));
  const bodies = new Map<string, ValidateFunction>();
  const validatorAt = (pointer: string) => {
    const known = bodies.get(pointer) ?? ajv.compile({ $ref: `document#${pointer}` });
    bodies.set(pointer, known);
    return known;
  };

  const operationOf = ({ method, path }: Asked) => {
    const [pathOnly = ''] = path.split('?');
    // The description of GET applies to HEAD as well.
    const name = method === 'HEAD' ? 'get' : method.toLowerCase();
    const route = routes.find(({ pattern, operations }) => pattern.test(pathOnly) && operations[name] !== undefined);
    const operation = route?.operations[name];
    return operation === undefined || route === undefined ? undefined : { template: route.template, name, operation };
  };

  const resolve = <T>(value: T | { $ref: string }, pointer: string): { value: T; pointer: string } => {
    if (typeof value !== 'object' || value === null || !('$ref' in value)) return { value: value as T, pointer };
    const target = value.$ref.slice(1);
    return { value: lookUp(document, target) as T, pointer: target };
  };

  return {
    operationOf,
    check(asked, answer) {
      const found = operationOf(asked);
      const responses = found?.operation.responses ?? document['x-not-routed'].responses;
      const at =
        found === undefined ? '/x-not-routed/responses' : pointerOf('paths', found.template, found.name, 'responses');
      const key = String(answer.status) in responses ? String(answer.status) : 'default';
      const described = (responses as Responses)[key];
      if (described === undefined)
        return [`status ${answer.status} is not described (${Object.keys(responses).join(', ')})`];
      const { value: response, pointer } = resolve<Response>(described as Response, `${at}/${key}`);
      return [
        ...checkHeaders(response, answer, (header) => resolve(header, '').value),
        ...checkBody({ response, pointer, answer, isHead: asked.method === 'HEAD', validatorAt }),
      ];
    },
  };
}

/**
 * Returns a sort key: templates with fewer parameters come first, and those with a parameter that matches slashes come
 * last.
 */
function vaguenessOf(template: string): number {
  const parameters = template.match(/\{\w+\}/g) ?? [];
  return (template.endsWith('{path}') ? 1_000 : 0) + parameters.length - template.split('/').length / 100;
}

type HeaderOf = NonNullable<Response['headers']>[string];
interface PlainHeader {
  required?: boolean;
  schema: { pattern?: string; const?: string };
}

/** Header fields that the router itself adds, in lower case; the document must describe them wherever they occur. */
const ownFields = [
  'idempotency-replayed',
  'ratelimit',
  'ratelimit-policy',
  'server-timing',
  'www-authenticate',
  'x-execution-id',
  'x-workflow-version',
];

function checkHeaders(
  { headers = {} }: Response,
  answer: ReceivedAnswer,
  resolve: (header: HeaderOf) => HeaderOf,
): string[] {
  const described = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const silent = ownFields.filter((name) => answer.headers[name] !== undefined && !described.has(name));
  const wrong = Object.entries(headers).flatMap(([name, reference]) => {
    const { required = false, schema } = resolve(reference) as PlainHeader;
    const value = answer.headers[name.toLowerCase()];
    if (value === undefined) return required ? [`the header field ${name} is missing`] : [];
    const text = [value].flat().join(', ');
    const fits =
      (schema.pattern === undefined || new RegExp(schema.pattern).test(text)) && (schema.const ?? text) === text;
    return fits ? [] : [`the header field ${name} is ${JSON.stringify(text)}`];
  });
  return [...silent.map((name) => `the header field ${name} is not described`), ...wrong];
}

interface BodyCheck {
  response: Response;
  /** Location of the response in the document. */
  pointer: string;
  answer: ReceivedAnswer;
  isHead: boolean;
  validatorAt: (pointer: string) => ValidateFunction;
}

function checkBody({ response, pointer, answer, isHead, validatorAt }: BodyCheck): string[] {
  if (isHead || answer.status === 204 || answer.status === 304)
    return answer.bytes.length === 0 ? [] : [`there are ${answer.bytes.length} bytes where no body may be`];
  const { content = {} } = response;
  const [type = ''] = [answer.headers['content-type'] ?? ''].flat()[0]?.split(';') ?? [];
  const key = [type.trim().toLowerCase(), '*/*'].find((candidate) => candidate in content);
  if (key === undefined) {
    if (answer.bytes.length === 0 && Object.keys(content).length === 0) return [];
    return [`the content type ${type || '(none)'} is not described (${Object.keys(content).join(', ')})`];
  }
  if (content[key]?.schema === undefined) return [];
  const validate = validatorAt(`${pointer}${pointerOf('content', key, 'schema')}`);
  if (validate(parseBody(answer))) return [];
  return (validate.errors ?? []).map(({ instancePath, message = '' }) => `body${instancePath}: ${message}`);
}

/** Returns the parsed body. A body that is not JSON is returned as a string. */
function parseBody({ bytes, headers }: ReceivedAnswer): unknown {
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[String(headers['content-encoding'])];
  const text = (decode === undefined ? bytes : decode(bytes)).toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Returns a JSON pointer (RFC 6901) for a URI fragment. */
function pointerOf(...names: readonly string[]): string {
  return names.map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
}

function lookUp(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document);
}
