// The mis-codes policy: a path names a college that has an adaptor, and that configuration lets its client name.

import { Type } from 'typebox';
import type { Config } from '#lib/config/schema.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { Problem } from '#lib/problem/problem.ts';

const parameters = Type.Object(
  {
    parameter: Type.String({ description: 'path parameter that is a MIS code' }),
    after: Type.Optional(
      Type.String({ pattern: '^[a-z]+$', description: 'segment name that is always followed by a MIS code' }),
    ),
    adaptors: Type.Optional(
      Type.Boolean({ description: 'whether a MIS code that no adaptor is configured for is refused; default no' }),
    ),
  },
  { additionalProperties: false },
);

/** What a back end could read as a separator or a second encoding: then nobody knows which college it will name. */
const ambiguous = /[/\\;%]/;
/** What some servers drop at the ends of a segment. */
const padding = /^[\s.]+|[\s.]+$/g;

export const misCodesDeclaration = declarePolicy({
  name: 'mis-codes',
  schema: parameters,
  describe: ({ parameter, adaptors = false }) => ({
    operation: () => ({
      problems: adaptors ? ['forbidden', 'unknown-college'] : ['forbidden'],
      parameters: [{ name: parameter, in: 'path', description: 'MIS code of a college.', example: '001' }],
    }),
  }),
});

/**
 * Stands behind `bearer`. The key `client.<client id>.misCodes` lists what the client may name; a client without it
 * passes. Every college that the decoded path names must be listed: the path parameter, and whatever follows a
 * segment `after` (nothing there: all colleges). With `adaptors`, the college of the path parameter has an adaptor.
 * @throws Problem `forbidden`, `unknown-college`
 */
export function createMisCodesPolicy(config: Config): Policy {
  return definePolicy(misCodesDeclaration, {
    // Who may not name a college is not told either how it is doing.
    early: ({ parameter, after, adaptors = false }) => ({
      look({ request, context: { clientId = '' }, params }) {
        const code = params[parameter] ?? '';
        checkMisCodes(config, clientId, { code, target: request.url ?? '', after });
        if (adaptors) checkAdaptor(config, code);
      },
    }),
    create: ({ parameter, after, adaptors = false }) =>
      function limitToMisCodes(request, _response, next) {
        const { clientId = '' } = contextOf(request);
        const code = request.params[parameter] ?? '';
        checkMisCodes(config, clientId, { code, target: request.originalUrl, after });
        if (adaptors) checkAdaptor(config, code);
        next();
      },
  });
}

/**
 * @param named `code`: the decoded path parameter; `target`: the raw request target; `after`: see the policy
 * @throws Problem `forbidden`
 */
export function checkMisCodes(
  config: Config,
  clientId: string,
  { code, target, after }: { code: string; target: string; after: string | undefined },
): void {
  const allowed = config[`client.${clientId}.misCodes`];
  if (allowed === undefined) return;
  if ([code, ...codesAfter(target, after)].every((each) => allowed.includes(each))) return;
  throw new Problem('forbidden', { detail: 'This client is limited to other MIS codes.' });
}

/**
 * Refuses a MIS code that neither `adaptor.url` nor `adaptor.<mis>.url` nor `adaptor.<mis>.domain` is set for, before it
 * costs an execution. A router that knows no adaptor's address refuses none: then only the workers know them.
 * @param code the decoded path parameter
 * @throws Problem `unknown-college`
 */
export function checkAdaptor(config: Config, code: string): void {
  const own = config[`adaptor.${code}.url`] ?? config[`adaptor.${code}.domain`];
  if ((own ?? config['adaptor.url']) !== undefined) return;
  if (!Object.keys(config).some((key) => /^adaptor\.[^.]+\.url$/.test(key))) return;
  throw new Problem('unknown-college');
}

/** What follows each segment `name`, upper or lower case; an empty text where the path ends. */
function codesAfter(target: string, name: string | undefined): string[] {
  const path = target.split('?', 1)[0] as string;
  // Bytes that were not percent-encoded come as Latin-1; the guard has seen to it that all of them are UTF-8.
  const ascii = path.replace(/[^\x00-\x7f]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const segments = ascii.split('/').map((segment) => decodeURIComponent(segment));
  if (segments.some((segment) => ambiguous.test(segment))) {
    throw new Problem('forbidden', { detail: 'For this client a path segment cannot have /, \\, ; or %.' });
  }
  // A back end may take // for /.
  const filled = segments.filter((segment) => segment !== '');
  return filled.flatMap((segment, index) =>
    segment.replace(padding, '').toLowerCase() === name ? [filled[index + 1] ?? ''] : [],
  );
}
