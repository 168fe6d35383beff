// The environment variables of the processes of a stack.

export const audience = 'urn:service-router';

type Environment = Record<string, string>;

export interface StackOptions {
  engineUrl: string;
  /** Additional environment variables of the router. */
  router?: Environment | ((below: Below) => Promise<Environment>);
  /** Additional environment variables of the workers. */
  workers?: Environment;
  /** Additional environment variables of the back ends. */
  backEnds?: Environment;
  /** Additional environment variables of the identity provider. */
  identityProvider?: Environment;
  /** Task domain of a second worker process; null to start no such process. Default: `002`. */
  colocatedDomain?: string | null;
  /** False to start no workers. Default: true. */
  withWorkers?: boolean;
  /** True to allow responses from the router that its OpenAPI document does not describe. */
  anyAnswer?: boolean;
}

/** Addresses that are known before the router starts. */
export interface Below {
  readonly issuer: string;
  readonly backEndsUrl: string;
}

/** Returns the variables of each process. A port is 0 unless the options set it. */
export function environmentsOf(options: StackOptions, stateDir: string) {
  const shared = { STATE_DIR: stateDir, OAUTH_AUDIENCE: audience, ...payloadKeyOfRun() };
  const addresses = ({ issuer, backEndsUrl }: Below) => ({
    ...shared,
    OAUTH_ISSUER: issuer,
    ADAPTOR_001_URL: `${backEndsUrl}/adaptors/001`,
    ADAPTOR_002_URL: `${backEndsUrl}/adaptors/002`,
    LMSDW_URL: `${backEndsUrl}/lms-dw`,
    MOVIES_URL: `${backEndsUrl}/movies`,
    MDM_URL: `${backEndsUrl}/mdm`,
  });
  // The router gets the workers' adaptor addresses too, as with a shared property file.
  const adaptors = Object.entries(options.workers ?? {}).filter(([name]) => /^ADAPTOR_\w+_URL$/.test(name));
  const { colocatedDomain = '002', withWorkers = true } = options;
  const colocated = colocatedDomain === null ? [] : [{ WORKERS_DOMAIN: colocatedDomain }];
  return {
    identityProvider: { ...shared, IDP_PORT: '0', ...options.identityProvider },
    backEnds: { ...shared, BACKENDS_PORT: '0', ...options.backEnds },
    router: async (below: Below): Promise<Environment> => ({
      ...addresses(below),
      CONDUCTOR_URL: options.engineUrl,
      ...Object.fromEntries(adaptors),
      // The suites share an engine: a reconciler would also repair executions that another suite has left behind on
      // purpose.
      RECONCILER_INTERVALMS: '0',
      ROUTER_PORT: '0',
      OPS_PORT: '0',
      ...(typeof options.router === 'function' ? await options.router(below) : options.router),
    }),
    workers: (below: Below & { readonly url: string }): Environment => ({
      ...addresses(below),
      CONDUCTOR_APIURL: `${below.url}/conductor/api`,
      WORKERS_CLIENTID: 'worker',
      WORKERS_CLIENTSECRET: 'worker-secret',
      // A stopping worker waits for its open polls; short polls keep the suites fast.
      WORKERS_POLLTIMEOUTMS: '1000',
      ...options.workers,
    }),
    /** Additional environment variables of each worker process. */
    pools: withWorkers ? [{}, ...colocated] : [],
  };
}

/** Returns the payload key from TEST_PAYLOAD_KEY, which lets any suite run with encrypted payloads. */
function payloadKeyOfRun(): Environment {
  const key = process.env['TEST_PAYLOAD_KEY'];
  return key === undefined ? {} : { PAYLOAD_KEY: key };
}
