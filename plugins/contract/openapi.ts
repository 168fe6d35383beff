// The openapi policy: answers with the OpenAPI document of the whole router.

import { Type } from 'typebox';
import { definePolicy, type Policy, type RouterServices } from '../../gateway/contract.ts';
import { describeStatic, StaticAnswer } from './static-answer.ts';

/** The document is built when the pipelines are mounted: what cannot be described keeps the router from starting. */
export function createOpenApiPolicy({ document }: Pick<RouterServices, 'document'>): Policy {
  return definePolicy({
    name: 'openapi',
    schema: Type.Object({}, { additionalProperties: false }),
    create() {
      const body = JSON.stringify(document());
      const answer = new StaticAnswer({ contentType: 'application/json', body, maxAgeSeconds: 60 });
      return (request, response) => answer.send(request, response);
    },
    describe: () => ({ operation: () => ({ responses: describeStatic('This document.', 'application/json') }) }),
  });
}
