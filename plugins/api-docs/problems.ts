// The problem-pages policy: serves the pages to which the `type` of problem documents links.

import { Type } from '#lib/json/json-schema.ts';
import type { Request, Response } from 'express';
import Negotiator from 'negotiator';
import type { PolicyDescription } from '#lib/openapi/description.ts';
import { declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { Problem } from '#lib/problem/problem.ts';
import { createProblemList, createProblemPage, problemCodes, type ProblemPage } from './problem-page.ts';
import { describeStatic } from './static-response.ts';

/** Formats for content negotiation (RFC 9110 section 12.5.1). A client that accepts problem documents receives JSON. */
const accepted = ['text/html', 'application/json', 'text/plain', 'application/problem+json'] as const;

/** Returns the format for a client; HTML when the client names no format or only unknown ones. */
function formOf(request: Request): keyof ProblemPage {
  // Negotiator is used directly, because the negotiator in Express takes quadratic time for a quoted parameter with
  // many semicolons.
  const mediaType = new Negotiator(request).mediaType([...accepted]);
  if (mediaType === 'application/problem+json') return 'application/json';
  return (accepted.slice(0, 3).find((type) => type === mediaType) as keyof ProblemPage | undefined) ?? 'text/html';
}

/** Pages by problem code. The list of all problems has the key `undefined`. */
export type ProblemPages = ReadonlyMap<string | undefined, ProblemPage>;

/** Renders all pages. They are the same in every configuration. */
export function createProblemPages(): ProblemPages {
  const pages = problemCodes.map((code) => [code, createProblemPage(code)] as const);
  return new Map<string | undefined, ProblemPage>([[undefined, createProblemList()], ...pages]);
}

/** Name and OpenAPI description of the policy. */
export const problemPagesDeclaration = declarePolicy({
  name: 'problem-pages',
  schema: Type.Object(
    {},
    {
      additionalProperties: false,
      description:
        'Serves a page for each problem type, as HTML, JSON or plain text. The `type` of a problem document links to it.',
    },
  ),
  alwaysResponds: true,
  describe: describePages,
});

/**
 * Creates the policy `problem-pages`, the last policy in its pipeline.
 * @throws Problem `not-found` for an unknown code
 */
export function createProblemPagesPolicy(pages: ProblemPages): Policy {
  const create = () => (request: Request, response: Response) => {
    const page = pages.get(request.params['code']);
    if (page === undefined) throw new Problem('not-found', { detail: 'There is no problem type with this code.' });
    return page[formOf(request)].send(request, response);
  };
  return definePolicy(problemPagesDeclaration, { create });
}

function describePages(): PolicyDescription {
  return {
    operation: ({ path }) => ({
      problems: ['not-found'],
      ...(path.includes('{')
        ? {
            parameters: [
              {
                name: 'code',
                in: 'path',
                schema: { type: 'string', enum: problemCodes },
                example: 'wait-budget-spent',
              },
            ],
          }
        : {}),
      responses: describeStatic('What happened, and what to do.', 'text/html', 'application/json', 'text/plain'),
    }),
  };
}
