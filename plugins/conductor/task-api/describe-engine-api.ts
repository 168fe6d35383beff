// The OpenAPI description of the engine-api policy: one operation for each call in the allow-list.

import type { ListedOperation, PolicyDescription } from '#lib/openapi/description.ts';
import type { Method, Parameter, Responses } from '#lib/openapi/openapi.ts';
import { schemes } from '#lib/openapi/security-schemes.ts';
import { pathParametersOf, templateOf } from '#lib/openapi/templates.ts';
import { allowedCalls } from './allow-list.ts';
import { workerCalls, workerSchemas } from './describe-worker-calls.ts';

const anyResponse: Responses = {
  default: { description: "The engine's response.", content: { '*/*': {} } },
};

/** Describes the policy. @param strip leading part of the public path, in front of `/api` */
export function describeEngineApi(strip: string): PolicyDescription {
  const prefix = `${templateOf(strip)}/api`;
  return {
    operation: () => ({
      components: { schemas: workerSchemas },
      problems: [
        'not-found',
        'insufficient-scope',
        'forbidden',
        'engine-unavailable',
        'body-too-large',
        'shutting-down',
      ],
    }),
    operations: () => allowedCalls.flatMap((call) => operationsOf(prefix, call)),
  };
}

// A rule that ends in `/**` also matches the path without this ending, so the rule becomes two operations.
function operationsOf(
  prefix: string,
  { method, path, scope, kind, summary: does }: (typeof allowedCalls)[number],
): ListedOperation[] {
  const [fixed = '', ...open] = path.split('/**');
  const template = `${prefix}/${fixed.replace('*', fixed.includes('poll') ? '{taskType}' : '{taskId}')}`;
  const templates = open.length === 0 ? [template] : [template, `${template}/{path}`];
  const { parameters = [], ...described } = (kind === undefined ? undefined : workerCalls[kind]) ?? {};
  return templates.map((place) => ({
    method: method as Method,
    path: place,
    operation: {
      summary: does,
      ...(method === 'GET' ? {} : { requestBody: { content: { 'application/json': {} } } }),
      responses: anyResponse,
      ...described,
      parameters: [...pathParametersOf(place).map(describeParameter), ...parameters],
      security: [{ [schemes.accessToken]: [scope] }, { [schemes.otherHeader]: [scope] }],
    },
  }));
}

const parameterDescriptions: Readonly<Record<string, string>> = {
  path: 'The rest of the path; may contain slashes.',
  taskType: 'Name of the task type, such as movies_intake.',
  taskId: '`taskId` of the task.',
};

function describeParameter(parameter: Parameter): Parameter {
  const description = parameterDescriptions[parameter.name];
  return description === undefined ? parameter : { ...parameter, description };
}
