// Says in English what a JSON Schema requires, from an error of the validator Ajv.

import type { ErrorObject } from 'ajv';

/** What Ajv reports about one violation, without the place. */
export type Violation = Pick<ErrorObject, 'keyword' | 'params' | 'message'>;

/** Returns the end of a sentence whose subject is the invalid value, such as `must be an integer`. */
export function expectationOf({ keyword, params, message = 'is not valid' }: Violation): string {
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`;
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}`;
  if (keyword === 'type')
    return `must be ${[params['type'] as string | string[]].flat().map(withArticle).join(' or ')}`;
  if (keyword === 'uniqueItems')
    return `must not contain duplicates (items ${Number(params['j']) + 1} and ${Number(params['i']) + 1} are the same)`;
  if (keyword === 'pattern') return firstCharacters(params['pattern'] as string) ?? message;
  return message;
}

/** Returns the expectation of a pattern that only lists the possible first characters, such as `^[/*]`. */
function firstCharacters(pattern: string): string | undefined {
  const characters = /^\^\[([^\]\\^-]+)\]$/.exec(pattern)?.[1];
  return characters === undefined ? undefined : `must begin with ${[...characters].join(' or ')}`;
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}
