// The OpenAPI description of the engine-api policy: one operation for each call of the allow-list.

import type { ListedOperation, PolicyDescription } from '#lib/openapi/description.ts';
import type { Method, Parameter, Responses } from '#lib/openapi/openapi.ts';
import { schemes } from '#lib/openapi/security-schemes.ts';
import { pathParametersOf, templateOf } from '#lib/openapi/templates.ts';
import { allowedCalls } from './allow-list.ts';

const anyResponse: Responses = {
  default: { description: "The engine's response.", content: { '*/*': {} } },
};

/** Describes the policy. @param strip leading part of the public path, in front of `/api` */
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
    operations: () => allowedCalls.flatMap((call) => operationsOf(prefix, call)),
  };
}

// A rule with a final `**` also matches the path in front of it.
function operationsOf(
  prefix: string,
  { method, path, scope, summary: does }: (typeof allowedCalls)[number],
): ListedOperation[] {
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
      responses: anyResponse,
      security: [{ [schemes.accessToken]: [scope] }, { [schemes.otherHeader]: [scope] }],
    },
  }));
}

function describeParameter(parameter: Parameter): Parameter {
  return parameter.name === 'path'
    ? { ...parameter, description: 'The rest of the path; may contain slashes.' }
    : parameter;
}
