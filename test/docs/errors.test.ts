// docs/errors.md lists the same problems and OAuth errors as the code.

import { expect, it } from 'vitest';
import { oauthErrors } from '../../plugins/oauth2/token/oauth-error.ts';
import { problemKinds } from '#lib/problem/catalogue.ts';
import { problemExplanations } from '#lib/problem/explanations.ts';
import { readPage, rowsOf, sectionOf } from './pages.ts';

const withoutLinks = (text: string) => text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
const page = readPage('docs/errors.md');
const firstThree = (heading: string) => rowsOf(sectionOf(page, heading)).map((cells) => cells.slice(0, 3));

it('errors.md: every problem with its status and title, and no other', () => {
  const expected = Object.entries(problemKinds).map(([code, { status, title }]) => [code, String(status), title]);
  expect(firstThree('Codes').toSorted()).toEqual(expected.toSorted());
});

it('errors.md: every problem says what the client should do, in the words of its page', () => {
  const documented = rowsOf(sectionOf(page, 'Codes')).map(([code, , , advice = '']) => [code, withoutLinks(advice)]);
  const expected = Object.entries(problemExplanations).map(([code, { advice }]) => [code, advice]);
  expect(documented.toSorted()).toEqual(expected.toSorted());
  expect(expected.filter(([, advice = '']) => advice.length < 10)).toEqual([]);
});

it('errors.md: every error of the token path with its status and description, and no other', () => {
  const expected = Object.entries(oauthErrors).map(([code, { status, description }]) => [
    code,
    String(status),
    description,
  ]);
  expect(firstThree('The token path').toSorted()).toEqual(expected.toSorted());
});
