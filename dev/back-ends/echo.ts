// An endpoint that responds with the request as received, byte for byte, to show what the router and workers forward.

import { Router } from 'express';
import { respondWith } from './json-response.ts';
import { readBody } from './request-body.ts';

/** Returns a router that responds to any method and path below its mount. */
export function createEcho(): Router {
  const router = Router();
  // Mounted with `use`: with a route pattern, Express decodes the path parameters and rejects malformed percent-encoding.
  router.use(
    respondWith(async (request) => {
      const body = await readBody(request);
      return {
        status: 200,
        body: {
          method: request.method,
          target: request.originalUrl,
          headers: joinFields(request.rawHeaders),
          rawHeaders: request.rawHeaders,
          body: body.toString('base64'),
          bodyLength: body.length,
        },
      };
    }),
  );
  return router;
}

/** Returns the header fields by lower-case name; repeated fields are joined with a comma. */
function joinFields(rawHeaders: readonly string[]): Record<string, string> {
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = String(rawHeaders[index]).toLowerCase();
    const value = String(rawHeaders[index + 1]);
    const earlier = fields.get(name);
    fields.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return Object.fromEntries(fields);
}
