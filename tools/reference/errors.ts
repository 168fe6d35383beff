// Generates the tables of problem types and OAuth errors from their catalogues.

import { problemKinds } from '#lib/problem/catalogue.ts';
import { problemExplanations } from '#lib/problem/explanations.ts';
import { oauthErrors } from '../../plugins/oauth2/token/oauth-error.ts';
import { code, table } from './markdown.ts';

/** Returns the table of problem types, in the order of the catalogue. */
export function formatProblems(): string {
  const rows = Object.entries(problemKinds).map(([name, { status, title }]) => {
    const { advice } = problemExplanations[name as keyof typeof problemExplanations];
    return [code(name), String(status), title, advice];
  });
  return table(['code', 'status', 'title', 'what the client should do'], rows);
}

/** Returns the table of the errors of the token path. */
export function formatOAuthErrors(): string {
  const rows = Object.entries(oauthErrors).map(([name, { status, description }]) => [
    code(name),
    String(status),
    description,
  ]);
  return table(['error', 'status', 'description'], rows);
}
