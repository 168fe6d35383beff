// Validates pipeline steps: parameters against the policy declarations, conditions with Express Gateway.

import { expressGateway } from './express-gateway.ts';
import type { FileProblems } from './file-problems.ts';
import type { PipelineStep } from '../plugin-api/gateway-config-schema.ts';
import { parameterCheck } from './parameter-checks.ts';
import type { PolicyDeclaration, PolicyContext } from '../plugin-api/policy.ts';
import { schemaErrors } from './schema-errors.ts';

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

/** Validates the condition of a step. Rejects async conditions: Express Gateway would mount their policies out of order. */
export function checkCondition({ condition, path }: PipelineStep, problems: FileProblems): void {
  if (condition === undefined) return;
  const at = [...path, 'condition'];
  const create = expressGateway().conditions.conditions[condition.name];
  if (create === undefined) return problems.add(at, `there is no condition "${condition.name}"`, 'name');
  try {
    const created: unknown = create(condition);
    if (created instanceof Promise)
      problems.add(at, `"${condition.name}" is asynchronous: only synchronous conditions are supported`);
  } catch (error) {
    problems.add(at, (error as Error).message);
  }
}
