// Path patterns of gateway.config.yml (Express 4) as OpenAPI path templates.

import type { Parameter } from './openapi.ts';

/** What `*` at the end of a pattern is called in a template. */
export const restName = 'path';

/**
 * `/adaptor/:mis/*` → `/adaptor/{mis}/{path}`.
 * @throws Error for patterns that no template can say: regular expressions, optional segments, `*` in the middle
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

/** The parameters of a template, as far as the template alone tells. */
export function pathParametersOf(template: string): Parameter[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const rest =
      name === restName ? ({ description: 'Any path; may contain slashes.', 'x-multi-segment': true } as const) : {};
    return { name, in: 'path', required: true, schema: { type: 'string', minLength: 1 }, ...rest };
  });
}

/** A regular expression that fits the paths of a template, percent-encoded as they come. */
export function patternOf(template: string): RegExp {
  const parts = template.split(/(\{\w+\})/).map((part) => {
    if (part === `{${restName}}`) return '.+';
    return part.startsWith('{') ? '[^/]+' : part.replace(/[.~-]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}/?$`, 'i');
}
