// Reads gateway.config.yml: YAML, `${key}` from the configuration, and every check that needs no plugin.

import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import { load, YAMLException } from 'js-yaml';
import type { Config } from '../config/schema.ts';
import { type GatewayConfig, gatewayConfigSchema, stepsOf } from './gateway-config-schema.ts';

/** Everything that is wrong with gateway.config.yml, one line each with the path inside the file: nothing listens. */
export class GatewayConfigError extends Error {
  override readonly name = 'GatewayConfigError';
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file} is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

const validate = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true }).compile<GatewayConfig>(
  gatewayConfigSchema,
);

/**
 * Loads and checks the file.
 * @throws GatewayConfigError that lists everything wrong at once
 */
export function loadGatewayConfig(file: string, config: Config): GatewayConfig {
  const problems: string[] = [];
  const value = substitute(parse(file), '', { config, problems });
  if (validate(value)) problems.push(...crossReferences(value));
  else problems.push(...describeErrors(validate.errors ?? []));
  if (problems.length > 0) throw new GatewayConfigError(file, problems);
  return value as GatewayConfig;
}

function parse(file: string): unknown {
  try {
    return load(readFileSync(file, 'utf8'));
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    const place = mark === undefined ? '' : ` at line ${mark.line + 1}, column ${mark.column + 1}`;
    throw new GatewayConfigError(file, [`${reason}${place}`]);
  }
}

/** `${key}` alone keeps the type of the value; inside a longer text it becomes text. */
function substitute(value: unknown, path: string, context: { config: Config; problems: string[] }): unknown {
  if (typeof value === 'string') return substituteText(value, path, context);
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, `${path}[${index}]`, context));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, substitute(item, path === '' ? key : `${path}.${key}`, context)]),
  );
}

function substituteText(
  text: string,
  path: string,
  { config, problems }: { config: Config; problems: string[] },
): unknown {
  const values = config as unknown as Record<string, unknown>;
  const lookUp = (key: string): unknown => {
    if (values[key] === undefined) problems.push(`${path}: \${${key}} is not set in the configuration`);
    return values[key];
  };
  const whole = /^\$\{([^}]+)\}$/.exec(text);
  if (whole) return lookUp(whole[1] as string) ?? text;
  return text.replace(/\$\{([^}]+)\}/g, (match, key: string) => String(lookUp(key) ?? match));
}

/** What a schema cannot see: names that point to nothing, and things that are declared and never used. */
function crossReferences(config: GatewayConfig): string[] {
  const problems: string[] = [];
  const used = new Map<string, string>();
  for (const [name, pipeline] of Object.entries(config.pipelines)) {
    for (const endpoint of pipeline.apiEndpoints) {
      if (!(endpoint in config.apiEndpoints)) {
        problems.push(`pipelines.${name}.apiEndpoints: there is no apiEndpoint "${endpoint}"`);
      }
      const other = used.get(endpoint);
      if (other !== undefined)
        problems.push(`pipelines.${name}.apiEndpoints: "${endpoint}" is served by pipeline "${other}" already`);
      used.set(endpoint, name);
    }
    for (const { policy, path } of stepsOf(config, name)) {
      if (!config.policies.includes(policy))
        problems.push(`${path}: policy "${policy}" is not declared under policies`);
    }
  }
  for (const endpoint of Object.keys(config.apiEndpoints)) {
    if (!used.has(endpoint))
      problems.push(`apiEndpoints.${endpoint}: no pipeline serves it, so its paths would answer 404`);
  }
  return problems;
}

/** Schema errors as sentences. A union reports every branch: only the deepest complaints are worth reading. */
function describeErrors(errors: readonly ErrorObject[]): string[] {
  const useful = errors.filter(({ keyword }) => keyword !== 'anyOf');
  const lines = useful.map((error) => {
    const path = error.instancePath.slice(1).replaceAll('/', '.') || 'the file';
    const unknown = error.params['additionalProperty'] as string | undefined;
    if (unknown !== undefined) return `${path}: unknown key "${unknown}"`;
    const missing = error.params['missingProperty'] as string | undefined;
    if (missing !== undefined) return `${path}: "${missing}" is missing`;
    const allowed = error.params['allowedValues'] as unknown[] | undefined;
    return `${path}: ${error.message}${allowed === undefined ? '' : ` (${allowed.join(', ')})`}`;
  });
  return [...new Set(lines)];
}
