// The docs policy: serves the OpenAPI document as an interactive page, using the router's own copy of Swagger UI.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Response } from 'express';
import { Type } from '#lib/json/json-schema.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Description } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import { declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { Problem } from '#lib/problem/problem.ts';
import { describeStatic, StaticResponse } from './static-response.ts';

const publicPath = (description: string) => Type.String({ pattern: '^(/[\\w.-]+)+$', description });

const parameters = Type.Object(
  {
    at: publicPath('public path of the page; its files are below it'),
    document: publicPath('public path of the OpenAPI document'),
  },
  {
    additionalProperties: false,
    description:
      'Serves an interactive page of the OpenAPI document, and redirects `/` to this page. `router.docs=false` switches the page off: its paths respond with 404.',
    examples: [{ at: '/docs', document: '/openapi.json' }],
  },
);

/** Allows only files from this router and requests to it; no inline scripts or styles, and no eval. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Swagger UI's style sheet embeds its icons as data URLs.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const pageDir = fileURLToPath(new URL('page/', import.meta.url));
const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
};
/** The files that the docs page loads, by the last segment of their path. */
export type DocsFiles = ReadonlyMap<string, StaticResponse>;

const pageAgeSeconds = 60;
const fileAgeSeconds = 3_600;

/** Name, parameters and OpenAPI description of the policy. */
export const docsDeclaration = declarePolicy({
  name: 'docs',
  schema: parameters,
  alwaysResponds: true,
  describe: ({ at }, { config }) => ({
    operation: ({ path }) => ({
      hidden: !config['router.docs'],
      ...describePath(path, at),
    }),
  }),
});

/**
 * Creates the policy `docs`, the last policy in its pipeline. When `router.docs` is off, the paths of the policy
 * respond with 404 and the OpenAPI document does not list them.
 * @throws Problem `not-found` for an unknown file
 */
export function createDocsPolicy(config: Pick<Config, 'router.docs'>, files: DocsFiles): Policy {
  const isOff = !config['router.docs'];
  return definePolicy(docsDeclaration, {
    create({ at, document }) {
      if (isOff) return (_request, _response, next) => next(new Problem('not-found'));
      const page = createPage(at, document);
      return (request, response) => {
        const { file } = request.params;
        if (file === undefined && request.path === '/') return redirect(response, at);
        const staticResponse = file === undefined ? page : files.get(file);
        if (staticResponse === undefined) throw new Problem('not-found');
        return staticResponse.send(request, response);
      };
    },
  });
}

/** Describes one path of the policy: `/`, the page, or a file of the page. */
function describePath(path: string, at: string): Description {
  if (path === '/') {
    const location = { description: 'Path of the page.', required: true, schema: { const: at } };
    const headers = { Location: location, 'Cache-Control': headerRef('CacheControl') };
    return { responses: { 302: { description: `The page is at ${at}.`, headers } } };
  }
  if (path === at) return { responses: describeStatic('An interactive page that can send requests.', 'text/html') };
  return {
    problems: ['not-found'],
    parameters: [{ name: 'file', in: 'path', example: 'start.js' }],
    responses: describeStatic('A file of the page.', 'text/css', 'text/javascript', 'image/png'),
  };
}

/** Redirects with 302 (RFC 9110 section 15.4.3). */
function redirect(response: Response, location: string): void {
  response
    .writeHead(302, { location, 'cache-control': `public, max-age=${pageAgeSeconds}`, 'content-length': 0 })
    .end();
}

function createPage(at: string, document: string): StaticResponse {
  const html = readFileSync(join(pageDir, 'index.html'), 'utf8')
    .replaceAll('{at}', at)
    .replaceAll('{document}', document);
  return new StaticResponse({
    contentType: 'text/html; charset=utf-8',
    body: html,
    maxAgeSeconds: pageAgeSeconds,
    headers: { 'content-security-policy': contentSecurityPolicy, 'cross-origin-opener-policy': 'same-origin' },
  });
}

/**
 * Reads the files of the page, by name: the script, style sheet and icon of Swagger UI, and the page's own script and
 * style sheet.
 */
export function createDocsFiles(): DocsFiles {
  const swaggerDir = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = [
    join(swaggerDir, 'swagger-ui-bundle.js'),
    join(swaggerDir, 'swagger-ui.css'),
    join(swaggerDir, 'favicon-32x32.png'),
    join(pageDir, 'start.js'),
    join(pageDir, 'page.css'),
  ];
  return new Map(
    files.map((path) => {
      const name = path.slice(path.lastIndexOf('/') + 1);
      const contentType = types[name.slice(name.lastIndexOf('.') + 1)] as string;
      return [name, new StaticResponse({ contentType, body: readFileSync(path), maxAgeSeconds: fileAgeSeconds })];
    }),
  );
}
