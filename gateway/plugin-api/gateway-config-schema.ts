// The schema of gateway.config.yml: the supported subset of Express Gateway's configuration; unknown keys are rejected.

import { type Static, Type } from '#lib/json/json-schema.ts';
import type { Path } from '#lib/conductor/definitions/json-text.ts';

const strict = { additionalProperties: false } as const;
const names = Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true });
/** An Express path pattern, such as `/books/:id` or `*`; must be expressible in OpenAPI (lib/openapi/templates.ts). */
const path = Type.String({ pattern: '^[/*]' });

/** Methods that an endpoint can name. GET implies HEAD. */
export const routableMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const apiEndpoint = Type.Object(
  {
    host: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'host name of this endpoint; any host when absent; two endpoints must differ in path or method even if their hosts differ',
      }),
    ),
    summary: Type.Optional(Type.String({ minLength: 1, description: 'one line for readers of the OpenAPI document' })),
    paths: Type.Union([path, Type.Array(path, { minItems: 1 })]),
    methods: Type.Optional(Type.Array(Type.Enum([...routableMethods]), { minItems: 1, uniqueItems: true })),
  },
  strict,
);

const step = Type.Union([
  Type.Null(),
  Type.Object(
    {
      action: Type.Optional(Type.Union([Type.Null(), Type.Record(Type.String(), Type.Unknown())])),
      condition: Type.Optional(Type.Object({ name: Type.String({ minLength: 1 }) }, { additionalProperties: true })),
    },
    strict,
  ),
]);

const pipeline = Type.Object(
  {
    apiEndpoints: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, uniqueItems: true }),
    policies: Type.Array(
      Type.Record(Type.String(), Type.Union([step, Type.Array(step)]), { minProperties: 1, maxProperties: 1 }),
      { minItems: 1 },
    ),
  },
  strict,
);

/** JSON Schema of gateway.config.yml after `${key}` substitution. */
export const gatewayConfigSchema = Type.Object(
  {
    http: Type.Object(
      { port: Type.Integer({ minimum: 0, maximum: 65535 }), hostname: Type.String({ minLength: 1 }) },
      strict,
    ),
    apiEndpoints: Type.Record(Type.String(), apiEndpoint, { minProperties: 1 }),
    plugins: Type.Record(
      Type.String(),
      Type.Object({ package: Type.String({ minLength: 1 }) }, { additionalProperties: true }),
      { minProperties: 1 },
    ),
    policies: names,
    pipelines: Type.Record(Type.String(), pipeline, { minProperties: 1 }),
  },
  strict,
);

/** A validated gateway.config.yml. */
export type GatewayConfig = Static<typeof gatewayConfigSchema>;

/** One step of a pipeline. */
export interface PipelineStep {
  policy: string;
  action: Record<string, unknown>;
  condition: { name: string } | undefined;
  /** Path in the file: `['pipelines', 'adaptor', 'policies', 1, 'workflow', 0]`. */
  path: Path;
}

/** Returns the steps of a pipeline in order; accepts both Express Gateway notations (one object, or a list). */
export function stepsOf(config: GatewayConfig, pipelineName: string): PipelineStep[] {
  const policies = config.pipelines[pipelineName]?.policies ?? [];
  return policies.flatMap((entry, position) =>
    Object.entries(entry).flatMap(([policy, value]) => {
      const path = ['pipelines', pipelineName, 'policies', position, policy];
      const steps = Array.isArray(value) && value.length > 0 ? value : [Array.isArray(value) ? null : value];
      return steps.map((item, index) => ({
        policy,
        action: { ...item?.action },
        condition: item?.condition,
        path: Array.isArray(value) ? [...path, index] : path,
      }));
    }),
  );
}

/** Returns the paths of an endpoint as a list. */
export function pathsOf(endpoint: GatewayConfig['apiEndpoints'][string]): string[] {
  return Array.isArray(endpoint.paths) ? endpoint.paths : [endpoint.paths];
}

/** Methods of an endpoint without a `methods` list. */
export const allMethods = [...routableMethods, 'OPTIONS'] as const;

/** Returns the methods of an endpoint; GET implies HEAD. */
export function methodsOf(endpoint: GatewayConfig['apiEndpoints'][string]): string[] {
  const methods: readonly string[] = endpoint.methods ?? allMethods;
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : [...methods];
}
