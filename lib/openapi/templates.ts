// Converts path patterns of gateway.config.yml (Express 4) to OpenAPI path templates.

import type { Parameter } from './openapi.ts';

/** Name of the template parameter for a final `*`. */
export const restName = 'path';

/**
 * Converts a pattern: `/adaptor/:mis/*` → `/adaptor/{mis}/{path}`.
 * @throws Error for patterns without an equivalent: regular expressions, optional segments, `*` in the middle
 */
export function templateOf(pattern: string): string {
  const segments = pattern.split('/').slice(1);
  const written = segments.map((segment, index) => {
    if (segment === '*' && index === segments.length - 1) return `{${restName}}`;
    const name = /^:(\w+)$/.exec(segment)?.[1];
    if (name !== undefined) return `{${name}}`;
    if (/^[\w.~-]*$/.test(segment)) return segment;
    throw new Error(`the path ${pattern} cannot be described: use plain segments, :parameters and * at the end`);
  });
  return `/${written.join('/')}`;
}

/** Returns the path parameters of a template. Only the parameter for a final `*` has a description. */
export function pathParametersOf(template: string): Parameter[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const rest =
      name === restName ? ({ description: 'Any path; may contain slashes.', 'x-multi-segment': true } as const) : {};
    return { name, in: 'path', required: true, schema: { type: 'string', minLength: 1 }, ...rest };
  });
}

/** Returns a regular expression that matches the percent-encoded paths of a template. */
export function templatePattern(template: string): RegExp {
  const parts = template.split(/(\{\w+\})/).map((part) => {
    if (part === `{${restName}}`) return '.+';
    return part.startsWith('{') ? '[^/]+' : part.replace(/[.~-]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}/?$`, 'i');
}
