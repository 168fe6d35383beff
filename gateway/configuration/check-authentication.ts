// Checks that a route whose pipeline authenticates clients does so for every method that the route accepts.

import { methodsOf, type PipelineStep } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';
import type { PolicyDeclaration } from '../plugin-api/policy.ts';
import { evaluateCondition } from './evaluate-condition.ts';
import type { FileProblems } from './file-problems.ts';

/**
 * Adds a problem when the pipeline of a route has a `bearer` step, but the route accepts some methods without a token.
 * That is the case for a method if no `bearer` step can run for it, or if a step that responds to every request comes
 * before all `bearer` steps that can run. A condition of a `bearer` step that depends on more than the method counts as
 * met. A step that has a condition and responds before `bearer`, such as a step for public reads, is not a problem: its
 * condition shows that the order is intended.
 */
export function checkAuthentication(
  { name, endpoint, steps }: GatewayRoute,
  declarations: ReadonlyMap<string, PolicyDeclaration>,
  problems: FileProblems,
): void {
  const first = steps.find(({ policy }) => policy === 'bearer');
  if (first === undefined) return;
  const responds = ({ policy, condition }: PipelineStep) =>
    declarations.get(policy)?.alwaysResponds === true && evaluateCondition(condition, {}) === true;
  const open = methodsOf(endpoint).filter((method) => {
    const authenticates = ({ policy, condition }: PipelineStep) =>
      policy === 'bearer' && evaluateCondition(condition, { method }) !== false;
    const decisive = steps.find((step) => responds(step) || authenticates(step));
    return decisive?.policy !== 'bearer';
  });
  if (open.length === 0) return;
  problems.add(
    first.condition === undefined ? first.path : [...first.path, 'condition'],
    `apiEndpoint "${name}" accepts ${open.join(', ')} without a token: for these methods, another step responds before any "bearer" step runs. Extend the conditions of the "bearer" steps, move these steps to the front, or list only the methods that need a token under "methods". Another apiEndpoint can serve the other methods, except OPTIONS, which cannot be listed`,
  );
}
