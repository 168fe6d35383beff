// The openapi policy: responds with the OpenAPI document of the whole router.

import { Type } from '#lib/json/json-schema.ts';
import { declarePolicy, definePolicy, type Policy, type RouterServices } from '../../gateway/plugin-api/plugin-api.ts';
import { describeStatic, StaticResponse } from './static-response.ts';

/** Name, parameters and OpenAPI description of the policy. */
export const openApiDeclaration = declarePolicy({
  name: 'openapi',
  schema: Type.Object(
    {},
    {
      additionalProperties: false,
      description: 'Responds with the OpenAPI document of the router.',
    },
  ),
  alwaysResponds: true,
  describe: () => ({ operation: () => ({ responses: describeStatic('This document.', 'application/json') }) }),
});

/**
 * Creates the policy `openapi`, the last policy in its pipeline. The document is serialised when the pipeline is built.
 */
export function createOpenApiPolicy({ document }: Pick<RouterServices, 'document'>): Policy {
  return definePolicy(openApiDeclaration, {
    create() {
      const body = JSON.stringify(document);
      const staticResponse = new StaticResponse({ contentType: 'application/json', body, maxAgeSeconds: 60 });
      return (request, response) => staticResponse.send(request, response);
    },
  });
}
