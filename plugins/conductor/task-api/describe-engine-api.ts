// What the engine-api policy says of itself in the OpenAPI document: each call of the allow-list is one operation.

import type { ListedOperation, PolicyDescription } from '#lib/openapi/description.ts';
import type { Method, Parameter, Responses } from '#lib/openapi/openapi.ts';
import { schemes } from '#lib/openapi/security-schemes.ts';
import { pathParametersOf, templateOf } from '#lib/openapi/templates.ts';
import { openCalls } from './allow-list.ts';

const anyAnswer: Responses = {
  default: { description: "The engine's own answer.", content: { '*/*': {} } },
};

/** @param strip leading part of the public path in front of `/api` */
export function describeEngineApi(strip: string): PolicyDescription {
  const prefix = `${templateOf(strip)}/api`;
  return {
    operation: () => ({
      problems: [
        'not-found',
        'insufficient-scope',
        'forbidden',
        'engine-unavailable',
        'body-too-large',
        'shutting-down',
      ],
    }),
    operations: () => openCalls.flatMap((call) => operationsOf(prefix, call)),
  };
}

// A rule that ends in two stars stands for the path in front of them as well.
function operationsOf(prefix: string, { method, path, scope, does }: (typeof openCalls)[number]): ListedOperation[] {
  const [fixed = '', ...open] = path.split('/**');
  const template = `${prefix}/${fixed.replace('*', fixed.includes('poll') ? '{taskType}' : '{taskId}')}`;
  const templates = open.length === 0 ? [template] : [template, `${template}/{path}`];
  return templates.map((place) => ({
    method: method as Method,
    path: place,
    operation: {
      summary: does,
      parameters: pathParametersOf(place).map(describeParameter),
      ...(method === 'GET' ? {} : { requestBody: { content: { 'application/json': {} } } }),
      responses: anyAnswer,
      security: [{ [schemes.accessToken]: [scope] }, { [schemes.otherHeader]: [scope] }],
    },
  }));
}

function describeParameter(parameter: Parameter): Parameter {
  return parameter.name === 'path'
    ? { ...parameter, description: 'The rest of the path; may contain slashes.' }
    : parameter;
}
