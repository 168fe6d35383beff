// Evaluates the condition of a pipeline step for a planned request, using Express Gateway's code.

import { expressGateway } from './express-gateway.ts';
import type { PipelineStep } from '../plugin-api/gateway-config-schema.ts';
import type { PlannedRequest } from '../plugin-api/policy.ts';

/**
 * Returns whether the request meets the condition; undefined when the condition depends on something that the planned
 * request does not specify, such as a header.
 */
export function evaluateCondition(
  condition: PipelineStep['condition'],
  { method, path }: Partial<Pick<PlannedRequest, 'method' | 'path'>>,
): boolean | undefined {
  if (condition === undefined) return true;
  return evaluate(condition, requestOf({ method, url: path }));
}

type Condition = NonNullable<PipelineStep['condition']>;

/** Evaluates nested conditions one by one, because those with a known result may decide the outcome on their own. */
function evaluate(condition: Condition, request: object): boolean | undefined {
  const { conditions = [], condition: negated } = condition as { conditions?: Condition[]; condition?: Condition };
  const all = conditions.map((each) => evaluate(each, request));
  const isUnknown = all.includes(undefined);
  switch (condition.name) {
    case 'not': {
      const isMet = negated === undefined ? undefined : evaluate(negated, request);
      return isMet === undefined ? undefined : !isMet;
    }
    case 'allOf':
      return all.includes(false) ? false : isUnknown ? undefined : true;
    case 'oneOf':
      return all.includes(true) ? true : isUnknown ? undefined : false;
    default:
      return evaluateOne(condition, request);
  }
}

function evaluateOne(condition: Condition, request: object): boolean | undefined {
  const create = expressGateway().conditions.conditions[condition.name];
  const isMet = create?.(condition) as (request: object) => boolean;
  try {
    return isMet(request);
  } catch (error) {
    if (error instanceof UnknownProperty) return undefined;
    throw error;
  }
}

/** Thrown when a condition reads a property that a planned request does not have. */
class UnknownProperty extends Error {}

/**
 * Returns a request that has only these properties. Reading any other property, or one that is undefined, throws
 * UnknownProperty.
 */
function requestOf(known: Readonly<Record<string, string | undefined>>): object {
  return new Proxy(known, {
    get(properties, name) {
      const value = properties[String(name)];
      if (value === undefined) throw new UnknownProperty(String(name));
      return value;
    },
  });
}
