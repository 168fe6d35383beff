// The mis-codes policy: limits clients to the MIS codes that configuration lists for them, and rejects colleges without
// an adaptor.

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

/**
 * Characters that a back end could read as a separator or as a second encoding: with them the college of a path is
 * ambiguous.
 */
const ambiguous = /[/\\;%]/;
/** Characters that some servers strip from the ends of a segment. */
const padding = /^[\s.]+|[\s.]+$/g;

/** Name, parameters and OpenAPI description of the policy. */
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
 * Creates the policy. It runs after `bearer`. `client.<client id>.misCodes` lists the MIS codes that a client may name;
 * clients without that key are not limited. Every college in the decoded path must be listed: the path parameter, and
 * each segment that follows a segment `after` (a path that ends there names all colleges). With `adaptors`, the college
 * of the path parameter must have an adaptor.
 * @throws Problem `forbidden`, `unknown-college`
 */
export function createMisCodesPolicy(config: Config): Policy {
  return definePolicy(misCodesDeclaration, {
    // A client that may not name a college must not learn from load shedding how that college is doing.
    loadShedding: ({ parameter, after, adaptors = false }) => ({
      check({ request, context: { clientId = '' }, params }) {
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
 * Checks that a client may name every college of a path.
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
 * Rejects a MIS code for which neither `adaptor.url` nor `adaptor.<mis>.url` nor `adaptor.<mis>.domain` is set, before
 * an execution is started. A router without any adaptor address rejects none: then only the workers know the addresses.
 * @param code the decoded path parameter
 * @throws Problem `unknown-college`
 */
export function checkAdaptor(config: Config, code: string): void {
  const own = config[`adaptor.${code}.url`] ?? config[`adaptor.${code}.domain`];
  if ((own ?? config['adaptor.url']) !== undefined) return;
  if (!Object.keys(config).some((key) => /^adaptor\.[^.]+\.url$/.test(key))) return;
  throw new Problem('unknown-college');
}

/** Segments that follow a segment `name` (case-insensitive); an empty string where the path ends. */
function codesAfter(target: string, name: string | undefined): string[] {
  const path = target.split('?', 1)[0] as string;
  // Node decodes raw bytes as Latin-1. The request guard has checked that all of them are UTF-8.
  const ascii = path.replace(/[^\x00-\x7f]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const segments = ascii.split('/').map((segment) => decodeURIComponent(segment));
  if (segments.some((segment) => ambiguous.test(segment))) {
    throw new Problem('forbidden', { detail: 'For this client a path segment cannot have /, \\, ; or %.' });
  }
  // A back end may read // as /.
  const nonEmpty = segments.filter((segment) => segment !== '');
  return nonEmpty.flatMap((segment, index) =>
    segment.replace(padding, '').toLowerCase() === name ? [nonEmpty[index + 1] ?? ''] : [],
  );
}
