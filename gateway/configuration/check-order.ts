// Checks the order of the steps of a pipeline: no step may be unreachable, or depend on a client that is not known yet.

import type { PipelineStep } from '../plugin-api/gateway-config-schema.ts';
import type { PolicyDeclaration } from '../plugin-api/policy.ts';
import { evaluateCondition } from './evaluate-condition.ts';
import type { FileProblems } from './file-problems.ts';

/**
 * Adds a problem for each step that never runs, because an earlier step responds to every request. Also adds a problem
 * for each step that needs the client but comes before the first `bearer` step of its pipeline, unless both steps have
 * conditions that depend on the request. A step with such a condition does not count as responding to every request.
 * Steps whose condition is never met are ignored.
 */
export function checkOrder(
  steps: readonly PipelineStep[],
  declarations: ReadonlyMap<string, PolicyDeclaration>,
  problems: FileProblems,
): void {
  const active = steps
    .map((step) => ({ ...step, isMet: evaluateCondition(step.condition, {}) }))
    .filter(({ isMet }) => isMet !== false);
  const authentication = active.findIndex(({ policy }) => policy === 'bearer');
  let last: string | undefined;
  for (const [index, { policy, isMet, path }] of active.entries()) {
    const { alwaysResponds, needsClient } = declarations.get(policy) ?? {};
    if (last !== undefined)
      problems.add(
        path,
        `this step never runs, because the earlier step "${last}" responds to every request: move this step before "${last}", or remove it`,
      );
    else if (needsClient === true && index < authentication && (isMet ?? active[authentication]?.isMet) === true)
      problems.add(path, `"${policy}" needs the client, which "bearer" identifies: move this step after "bearer"`);
    if (alwaysResponds === true && isMet === true) last ??= policy;
  }
}
