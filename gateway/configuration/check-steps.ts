// Validates pipeline steps: parameters against the policy declarations, conditions with Express Gateway.

import { createRequire } from 'node:module';
import { Script } from 'node:vm';
import { Ajv } from 'ajv';
import type { Path } from '#lib/conductor/definitions/json-text.ts';
import { expressGateway } from './express-gateway.ts';
import type { FileProblems } from './file-problems.ts';
import type { PipelineStep } from '../plugin-api/gateway-config-schema.ts';
import { parameterCheck } from './parameter-checks.ts';
import type { PolicyDeclaration, PolicyContext } from '../plugin-api/policy.ts';
import { type SchemaError, schemaErrors } from './schema-errors.ts';

/** Validates the parameters of one step and fills in their defaults. */
export function checkParameters(
  { action, path }: PipelineStep,
  { declaration, place }: { declaration: PolicyDeclaration; place: PolicyContext },
  problems: FileProblems,
): void {
  const at = [...path, 'action'];
  const validate = parameterCheck(declaration.schema);
  if (!validate(action)) {
    for (const error of schemaErrors(validate.errors ?? [], 'parameter'))
      problems.add([...at, ...error.path], error.message, error.key);
    return;
  }
  for (const { message, parameter } of declaration.check?.(action as never, place) ?? [])
    problems.add(at, message, parameter);
}

/** An Express Gateway condition. */
type Condition = NonNullable<PipelineStep['condition']>;

/** Conditions that call methods which Passport adds to requests. */
const conditionsOfPassport = new Set(['authenticated', 'anonymous']);
const alternative = 'use the policy "bearer" to authenticate clients';

/**
 * Validates the condition of a step and the conditions nested in it. Rejects the conditions that Express Gateway
 * accepts but cannot evaluate: Passport conditions, and asynchronous conditions (with these, Express Gateway would
 * mount the policies out of order).
 */
export function checkCondition({ condition, path }: PipelineStep, problems: FileProblems): void {
  if (condition !== undefined) checkAt([...path, 'condition'], condition, problems);
}

function checkAt(at: Path, condition: Condition, problems: FileProblems): void {
  const { name } = condition;
  const { conditions } = expressGateway().conditions;
  const create = Object.hasOwn(conditions, name) ? conditions[name] : undefined;
  if (create === undefined) return problems.add(at, `there is no condition "${name}"`, 'name');
  if (conditionsOfPassport.has(name))
    return problems.add(at, `"${name}" needs Passport, which the router does not use: ${alternative}`);
  const before = problems.count;
  for (const [path, nested] of nestedConditions(condition)) checkAt([...at, ...path], nested, problems);
  for (const error of parameterErrors(condition)) problems.add([...at, ...error.path], error.message, error.key);
  // Express Gateway would report a problem in a nested condition again, or miss it.
  if (problems.count > before) return;
  try {
    if (create(condition) instanceof Promise)
      problems.add(at, `"${name}" is asynchronous: only synchronous conditions are supported`);
    if (name === 'expression') checkExpression(condition as Condition & { expression: string });
  } catch (error) {
    problems.add(at, (error as Error).message);
  }
}

let conditionSchemas: Ajv | undefined;

/**
 * Returns the violations of the condition's schema. Express Gateway reports only that there are violations, not which.
 */
function parameterErrors(condition: Condition): SchemaError[] {
  conditionSchemas ??= loadConditionSchemas();
  const validate = conditionSchemas.getSchema(condition.name);
  return validate === undefined || validate(condition) === true ? [] : schemaErrors(validate.errors ?? []);
}

/**
 * Loads the schemas of Express Gateway's conditions, by name. The options match those of Express Gateway's own
 * validator.
 */
function loadConditionSchemas(): Ajv {
  const require = createRequire(import.meta.url);
  const conditions = require('express-gateway/lib/conditions/predefined') as { name: string; schema: object }[];
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    coerceTypes: true,
    strict: false,
    validateSchema: false,
    code: { optimize: false },
    formats: { regex: isRegularExpression },
  });
  for (const { name, schema } of conditions) ajv.addSchema(schema, name);
  return ajv;
}

function isRegularExpression(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Compiles an expression, as Express Gateway does for each request. @throws Error when it has a syntax error */
function checkExpression({ expression }: { expression: string }): void {
  try {
    void new Script(expression);
  } catch (error) {
    throw new Error(`the expression cannot be compiled: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Returns the conditions within `allOf`, `oneOf` and `not`, with their paths. Malformed conditions are left out,
 * because Express Gateway reports them.
 */
function nestedConditions(parent: Condition & { conditions?: unknown; condition?: unknown }): [Path, Condition][] {
  const list = Array.isArray(parent.conditions) ? (parent.conditions as unknown[]) : [];
  const nested: [Path, unknown][] = [
    [['condition'], parent.condition],
    ...list.map((condition, index): [Path, unknown] => [['conditions', index], condition]),
  ];
  return nested.filter((entry): entry is [Path, Condition] => isCondition(entry[1]));
}

function isCondition(value: unknown): value is Condition {
  return typeof (value as Partial<Condition> | null | undefined)?.name === 'string';
}
