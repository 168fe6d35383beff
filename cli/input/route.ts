// Reads and checks the arguments of `add-route`.

import { isBackEndName } from '#lib/config/back-end-name.ts';
import { problemOfBackEndUrl } from '#lib/config/back-end-url.ts';
import { templateOf } from '#lib/openapi/templates.ts';
import { routableMethods } from '../../gateway/plugin-api/gateway-config-schema.ts';
import type { RouteToAdd } from '../edit/gateway-config.ts';
import { workflowOfBackEnd } from '../edit/route-definitions.ts';
import { CommandError } from '../outcome.ts';

/** The options of `add-route`. Lists are still comma-separated strings. */
export interface AddRouteOptions {
  readonly path: string;
  readonly methods: string;
  readonly url: string;
  readonly strip?: string;
  readonly writeScope?: string;
  readonly misCodes?: string;
  readonly summary?: string;
  readonly dir?: string;
}

/**
 * Returns the route and the address of its back end.
 * @throws CommandError with a line for each argument that is wrong
 */
export function readRoute(name: string, options: AddRouteOptions): { route: RouteToAdd; url: string } {
  const { path, url, writeScope, misCodes } = options;
  const paths = listOf(path);
  const methods = [...new Set(listOf(options.methods).map((method) => method.toUpperCase()))];
  const strip = options.strip ?? `/${paths[0]?.split('/')[1] ?? ''}`;
  const summary = options.summary ?? `The back end ${name}`;
  const badUrl = problemOfBackEndUrl(url);
  const problems = [
    ...(isBackEndName(name)
      ? []
      : [`the name ${name} is not valid: use 1 to 48 lower-case letters, digits and hyphens, beginning with a letter`]),
    ...(options.strip === undefined || pathPattern.test(strip)
      ? []
      : [`--strip: ${JSON.stringify(strip)} is not a path: write /segment, without a slash at its end`]),
    ...paths.flatMap((each) => problemsOfPath(each, strip)),
    ...methods
      .filter((method) => !routableMethods.some((known) => known === method))
      .map((method) => `--methods: ${method} is not one of ${routableMethods.join(', ')} (GET implies HEAD)`),
    ...(badUrl === null ? [] : [`--url ${badUrl}`]),
    ...(misCodes === undefined || paths.every((each) => each.split('/').includes(`:${misCodes}`))
      ? []
      : [`--mis-codes: every path needs the parameter :${misCodes}`]),
    ...(writeScope === undefined || /^[\w.:/-]+$/.test(writeScope)
      ? []
      : ['--write-scope: a scope may contain only letters, digits and _.:/-']),
    ...(/^[^\n\r]+$/.test(summary) ? [] : ['--summary must be one line']),
  ];
  if (problems.length > 0) throw new CommandError(problems);
  return {
    route: { name, summary, paths, methods, workflow: workflowOfBackEnd(name), strip, writeScope, misCodes },
    url,
  };
}

function listOf(value: string): string[] {
  return value.split(',').map((item) => item.trim());
}

const pathPattern = /^(?:\/[^/]+)+$/;

function problemsOfPath(path: string, strip: string): string[] {
  if (!pathPattern.test(path)) return [`--path: ${path} is not a path: write /segment, without a slash at its end`];
  if (/^\/[:*]/.test(path))
    return [`--path: ${path} would match the paths of other routes: its first segment must be plain`];
  try {
    const names = [...templateOf(path).matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    if (new Set(names).size < names.length) return [`--path: ${path} has two parameters with the same name`];
  } catch (error) {
    return [`--path: ${(error as Error).message}`];
  }
  return `${path}/`.startsWith(`${strip}/`) ? [] : [`--strip: ${path} does not begin with ${strip}`];
}
