// The declaration of the engine-api policy: its parameters, its OpenAPI description, and the check of a planned
// request.

import { Type } from '#lib/json/json-schema.ts';
import { declarePolicy } from '../../../gateway/plugin-api/plugin-api.ts';
import { judgeCall } from './allow-list.ts';
import { describeEngineApi } from './describe-engine-api.ts';

const parameters = Type.Object(
  { strip: Type.String({ pattern: '^(/[^/]+)+$', description: 'leading part of the public path in front of `/api`' }) },
  {
    additionalProperties: false,
    description:
      "Serves the engine's API to workers and operators: the calls of an allow-list, each with the scope it requires. It holds the polls of workers until there is a task.",
    examples: [{ strip: '/conductor' }],
  },
);

/** Name, parameters and description of the policy. */
export const engineApiDeclaration = declarePolicy({
  name: 'engine-api',
  schema: parameters,
  alwaysResponds: true,
  needsClient: true,
  describe: ({ strip }) => describeEngineApi(strip),
  judge: ({ strip }, request) => judgeCall(request, strip),
});
