// Checks that a route whose pipeline authenticates clients does so for every method that the route accepts.

import { methodsOf } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';
import { evaluateCondition } from './evaluate-condition.ts';
import type { FileProblems } from './file-problems.ts';

/**
 * Adds a problem when the pipeline of a route has `bearer` steps, but there is a method for which none of their conditions
 * can be met, so that requests with that method would need no token. A condition that depends on more than the method
 * counts as met.
 */
export function checkAuthentication({ name, endpoint, steps }: GatewayRoute, problems: FileProblems): void {
  const authenticating = steps.filter(({ policy }) => policy === 'bearer');
  const [first] = authenticating;
  if (first === undefined) return;
  const open = methodsOf(endpoint).filter((method) =>
    authenticating.every(({ condition }) => evaluateCondition(condition, { method }) === false),
  );
  if (open.length === 0) return;
  problems.add(
    [...first.path, 'condition'],
    `apiEndpoint "${name}" accepts ${open.join(', ')} without a token, because the conditions of its "bearer" steps do not cover these methods: extend the conditions, or limit the "methods" of the apiEndpoint to those that need a token; another apiEndpoint can serve the others, except OPTIONS`,
  );
}
