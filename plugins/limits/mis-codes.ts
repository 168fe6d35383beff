// The mis-codes policy: limits clients to the MIS codes that the configuration lists for them, and rejects requests for
// colleges without an adaptor.

import { misCodePattern } from '#lib/config/mis-code.ts';
import { type Static, Type } from '#lib/json/json-schema.ts';
import type { Config } from '#lib/config/schema.ts';
import {
  contextOf,
  declarePolicy,
  definePolicy,
  type PlannedRequest,
  type Policy,
  type Refusal,
} from '../../gateway/plugin-api/plugin-api.ts';
import { Problem } from '#lib/problem/problem.ts';

const parameters = Type.Object(
  {
    parameter: Type.String({ description: 'path parameter that contains the MIS code' }),
    after: Type.Optional(
      Type.String({
        pattern: '^[a-z]+$',
        description: 'path segment, in upper or lower case, that is always followed by an MIS code',
      }),
    ),
    adaptors: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'responds with 404 `unknown-college` when no adaptor is configured for the MIS code',
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      'Limits a client to its MIS codes, `client.<client>.misCodes`. A request that names another college gets 403 `forbidden`. A client without that key is not limited.',
    examples: [{ parameter: 'mis', after: 'colleges', adaptors: true }],
  },
);

const adaptorUrlKey = new RegExp(`^adaptor\\.${misCodePattern}\\.url$`);

/**
 * Characters that a back end could read as a separator or as a second level of encoding. They would make it ambiguous
 * which college a path names.
 */
const ambiguous = /[/\\;%]/;
/**
 * White space and dots at the ends of a segment, which some servers strip. The look-behind makes a match begin only at
 * the start of a run, because trying every position of the run would take quadratic time.
 */
const padding = /(?<![\s.])[\s.]+$|^[\s.]+/g;

/** Name, parameters and OpenAPI description of the policy. */
export const misCodesDeclaration = declarePolicy({
  name: 'mis-codes',
  schema: parameters,
  needsClient: true,
  limits: ({ parameter }) => ({ misCodes: parameter }),
  judge,
  describe: ({ parameter, adaptors = false }) => ({
    operation: () => ({
      problems: adaptors ? ['forbidden', 'unknown-college'] : ['forbidden'],
      parameters: [{ name: parameter, in: 'path', description: 'MIS code of a college.', example: '001' }],
    }),
  }),
});

/**
 * Creates the policy. It runs after `bearer`. `client.<client id>.misCodes` lists the MIS codes that a client may name;
 * clients without that key are not limited. Every MIS code in the decoded path must be listed: the path parameter, and
 * each segment after the segment that the parameter `after` names. A path that ends with that segment names all
 * colleges and is rejected. With `adaptors`, the college in the path parameter must have an adaptor.
 * @throws Problem `forbidden`, `unknown-college`
 */
export function createMisCodesPolicy(config: Config): Policy {
  return definePolicy(misCodesDeclaration, {
    // Load shedding must not reveal the state of a college's back end to a client that may not name that college.
    loadShedding: ({ parameter, after, adaptors = false }) => ({
      check({ request, context: { clientId = '' }, params }) {
        const code = params[parameter] ?? '';
        checkMisCodes(config, clientId, { code, target: request.url ?? '', after, adaptors });
      },
    }),
    create: ({ parameter, after, adaptors = false }) =>
      function limitToMisCodes(request, _response, next) {
        const { clientId = '' } = contextOf(request);
        const code = request.params[parameter] ?? '';
        checkMisCodes(config, clientId, { code, target: request.originalUrl, after, adaptors });
        next();
      },
  });
}

interface NamedColleges {
  /** The decoded path parameter. */
  readonly code: string;
  /** The raw request target. */
  readonly target: string;
  readonly after: string | undefined;
  readonly adaptors: boolean;
}

/**
 * Checks that a client may name every college in a path and, with `adaptors`, that the college in the path parameter
 * has an adaptor.
 * @throws Problem `forbidden`, `unknown-college`
 */
function checkMisCodes(config: Config, clientId: string, { code, target, after, adaptors }: NamedColleges): void {
  const allowed = config[`client.${clientId}.misCodes`];
  if (allowed !== undefined && ![code, ...codesAfter(target, after)].every((each) => allowed.includes(each)))
    throw new Problem('forbidden', { detail: 'This client is limited to other MIS codes.' });
  if (adaptors) checkAdaptor(config, code);
}

/**
 * Rejects an MIS code for which neither `adaptor.url` nor `adaptor.<mis>.url` nor `adaptor.<mis>.domain` is set, before
 * an execution is started. A router on which no adaptor address is configured rejects no MIS code, because only the
 * workers know the addresses.
 * @param code the decoded path parameter
 * @throws Problem `unknown-college`
 */
export function checkAdaptor(config: Config, code: string): void {
  const own = config[`adaptor.${code}.url`] ?? config[`adaptor.${code}.domain`];
  if ((own ?? config['adaptor.url']) !== undefined) return;
  if (!Object.keys(config).some((key) => adaptorUrlKey.test(key))) return;
  throw new Problem('unknown-college');
}

function judge(
  { parameter, after, adaptors = false }: Static<typeof parameters>,
  { clientId, path, params }: PlannedRequest,
  config: Config,
): Refusal | undefined {
  if (path === undefined) return undefined;
  const code = params[parameter] ?? '';
  try {
    checkMisCodes(config, clientId, { code, target: path, after, adaptors });
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code === 'unknown-college'
      ? { status: 404, reason: 'no adaptor is configured for this MIS code' }
      : {
          status: 403,
          reason: `client.${clientId}.misCodes forbids this path: ${error.detail ?? ''}`,
        };
  }
}

/**
 * Returns each segment that follows a segment `name` (case-insensitive), or an empty string if the path ends with
 * `name`.
 */
function codesAfter(target: string, name: string | undefined): string[] {
  const path = target.split('?', 1)[0] as string;
  // The request guard has checked that all segments are UTF-8.
  const segments = path.split('/').map((segment) => decodeURIComponent(segment));
  if (segments.some((segment) => ambiguous.test(segment))) {
    throw new Problem('forbidden', {
      detail: 'For this client, a path segment must not contain "/", "\\", ";" or "%".',
    });
  }
  // A back end may read // as /.
  const nonEmpty = segments.filter((segment) => segment !== '');
  return nonEmpty.flatMap((segment, index) =>
    segment.replace(padding, '').toLowerCase() === name ? [nonEmpty[index + 1] ?? ''] : [],
  );
}
