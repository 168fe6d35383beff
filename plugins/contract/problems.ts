// The problem-pages policy: where the `type` of a problem document leads.

import { Type } from 'typebox';
import type { Request } from 'express';
import { definePolicy } from '../../gateway/contract.ts';
import { Problem } from '../../problem/problem.ts';
import { createProblemList, createProblemPage, problemCodes, type ProblemPage } from './problem-page.ts';
import { describeStatic } from './static-answer.ts';

/** A program that asks for problem documents reads JSON. */
const accepted = ['text/html', 'application/json', 'text/plain', 'application/problem+json'] as const;

/** Which form the client wants; HTML for one that does not say, or asks for what there is not. */
function formOf(request: Request): keyof ProblemPage {
  const asked = request.accepts([...accepted]);
  if (asked === 'application/problem+json') return 'application/json';
  return (accepted.slice(0, 3).find((type) => type === asked) as keyof ProblemPage | undefined) ?? 'text/html';
}

export const problemPagesPolicy = definePolicy({
  name: 'problem-pages',
  schema: Type.Object({}, { additionalProperties: false }),
  create() {
    const list = createProblemList();
    const pages = new Map<string, ProblemPage>(problemCodes.map((code) => [code, createProblemPage(code)]));
    return (request, response) => {
      const { code } = request.params;
      const page = code === undefined ? list : pages.get(code);
      if (page === undefined) throw new Problem('not-found', { detail: 'There is no problem of this name.' });
      return page[formOf(request)].send(request, response);
    };
  },
  describe: () => ({
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
  }),
});
