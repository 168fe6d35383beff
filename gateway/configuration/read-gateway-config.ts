// Reads gateway.config.yml: parses YAML, substitutes `${key}` from the configuration, and runs all checks that need no
// plugin.

import { ProblemsError } from '#lib/config/problems-error.ts';
import { readFileSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { Ajv } from 'ajv';
import type { Path } from '#lib/conductor/definitions/json-text.ts';
import { currentKey } from '#lib/config/deprecated-keys.ts';
import type { Config } from '#lib/config/schema.ts';
import { reconcilerRoute } from '#lib/envelope/inbound.ts';
import { FileProblems } from './file-problems.ts';
import {
  type GatewayConfig,
  gatewayConfigSchema,
  type PipelineStep,
  stepsOf,
} from '../plugin-api/gateway-config-schema.ts';
import { type GatewayRoute, routesOf } from '../plugin-api/gateway-routes.ts';
import { schemaErrors } from './schema-errors.ts';
import { YamlText } from './yaml-text.ts';

/** Thrown for an invalid gateway.config.yml. Lists all its problems, each with file, line and column. */
export class GatewayConfigError extends ProblemsError {
  override readonly name = 'GatewayConfigError';
  constructor(problems: readonly string[]) {
    super(problems, 'the gateway configuration is not valid');
  }
}

/** A gateway configuration file and the values for its substitutions. */
export interface GatewayFile {
  readonly file: string;
  /** Base directory of relative paths in the file; messages name the file relative to it. */
  readonly rootDir: string;
  /** Values of `${key}`. */
  readonly config: Config;
}

/** The content of a gateway configuration file, with its problems. */
export interface ReadGateway {
  /** Undefined when the file cannot be read, is not YAML or does not match the schema. */
  readonly gatewayConfig: GatewayConfig | undefined;
  /** Steps of each pipeline, in order. */
  readonly steps: ReadonlyMap<string, readonly PipelineStep[]>;
  readonly routes: readonly GatewayRoute[];
  readonly problems: FileProblems;
}

// `validateSchema`: see lib/config/load.ts.
const ajv = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  validateSchema: false,
  code: { optimize: false },
});
const validate = ajv.compile<GatewayConfig>(gatewayConfigSchema);

/**
 * Reads and checks the file; errors are collected in `problems`. Checks that need plugins are in validate-gateway.ts.
 */
export function readGatewayConfig({ file, rootDir, config }: GatewayFile): ReadGateway {
  const name = nameOf(file, rootDir);
  const content = readText(file);
  const text = new YamlText(content instanceof Error ? '' : content);
  const problems = new FileProblems(name, text);
  const unread = { gatewayConfig: undefined, steps: new Map<string, PipelineStep[]>(), routes: [], problems };
  if (content instanceof Error) {
    problems.addForFile(content.code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${content.message}`);
    return unread;
  }
  if (problems.count > 0) return unread;
  const value = substitute(text.value, [], { config, problems });
  if (!validate(value)) {
    for (const { path, message, key } of schemaErrors(validate.errors ?? [])) problems.add(path, message, key);
    return unread;
  }
  checkReferences(value, problems);
  const steps = new Map(Object.keys(value.pipelines).map((pipeline) => [pipeline, stepsOf(value, pipeline)]));
  return { gatewayConfig: value, steps, routes: routesOf(value, steps), problems };
}

/** Returns the text of a file, or the error when the file cannot be read. */
function readText(file: string): string | NodeJS.ErrnoException {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

/** Returns the path relative to the directory, or the unchanged path when the file is outside the directory. */
function nameOf(file: string, rootDir: string): string {
  const below = relative(rootDir, file);
  return below.startsWith('..') || isAbsolute(below) ? file : below;
}

interface Substitution {
  readonly config: Config;
  readonly problems: FileProblems;
}

/**
 * Substitutes `${key}` in all strings; deprecated keys work too. A string that is only `${key}` becomes the value
 * itself.
 */
function substitute(value: unknown, path: Path, context: Substitution): unknown {
  if (typeof value === 'string') return substituteText(value, path, context);
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, [...path, index], context));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, substitute(item, [...path, key], context)]),
  );
}

function substituteText(text: string, path: Path, { config, problems }: Substitution): unknown {
  const values = config as unknown as Record<string, unknown>;
  const lookUp = (key: string): unknown => {
    const value = values[currentKey(key)];
    if (value === undefined) problems.add(path, `\${${key}} is not set in the configuration`);
    return value;
  };
  const whole = /^\$\{([^}]+)\}$/.exec(text);
  if (whole) return lookUp(whole[1] as string) ?? text;
  return text.replace(/\$\{([^}]+)\}/g, (match, key: string) => String(lookUp(key) ?? match));
}

/** Checks names and references: unknown endpoints and policies, endpoints that no pipeline uses, a reserved name. */
function checkReferences(config: GatewayConfig, problems: FileProblems): void {
  const used = new Map<string, string>();
  for (const [name, pipeline] of Object.entries(config.pipelines)) {
    for (const [index, endpoint] of pipeline.apiEndpoints.entries()) {
      const path = ['pipelines', name, 'apiEndpoints', index];
      if (!(endpoint in config.apiEndpoints)) problems.add(path, `there is no apiEndpoint "${endpoint}"`);
      const other = used.get(endpoint);
      if (other !== undefined) problems.add(path, `"${endpoint}" is already served by pipeline "${other}"`);
      used.set(endpoint, name);
    }
    for (const { policy, path } of stepsOf(config, name)) {
      if (!config.policies.includes(policy)) problems.add(path, `policy "${policy}" is not declared under policies`);
    }
  }
  if (Object.hasOwn(config.apiEndpoints, reconcilerRoute))
    problems.add(
      ['apiEndpoints', reconcilerRoute],
      'this name is reserved for the requests of the reconciler, and clients cannot find executions of such requests: choose another name',
    );
  for (const endpoint of Object.keys(config.apiEndpoints)) {
    if (!used.has(endpoint))
      problems.add(
        ['apiEndpoints', endpoint],
        'no pipeline serves this apiEndpoint, so its paths would respond with 404',
      );
  }
}
