// Answers with what arrived, to the byte: shows tests and curious callers what the router and its workers passed on.

import { Router } from 'express';
import { respondWith } from './json-response.ts';
import { readBody } from './request-body.ts';

/** Answers any method at any path below its mount. */
export function createEcho(): Router {
  const router = Router();
  // `use`, not a route pattern: Express would decode the path, and refuse what it cannot decode.
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

/** Every field that was received by its lower-case name; repeated ones joined by a comma. */
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
