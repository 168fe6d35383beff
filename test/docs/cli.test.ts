// What the pages show of the CLI is what it prints itself; `npm run docs:cli` writes it.

import { describe, expect, it } from 'vitest';
import { createProgram } from '../../cli/program.ts';
import { readGeneratedPart, replaceGeneratedPart } from '../../cli/reference/generated-part.ts';
import { pages } from '../../cli/reference/pages.ts';
import { readPage } from './pages.ts';

describe('the documentation of the CLI', () => {
  it.each(pages)("$file: shows today's help; else run npm run docs:cli", ({ file, format }) => {
    expect(readGeneratedPart(readPage(file).text)).toBe(format(createProgram()));
  });

  it('every command: has examples that begin with its own words', () => {
    const reference = pages[1]?.format(createProgram()) ?? '';
    const sections = reference.split(/^### /m).slice(1);
    expect(sections.length).toBeGreaterThan(3);
    for (const section of sections) {
      const words = section.split('\n')[0] ?? '';
      expect(section, words).toMatch(new RegExp(`Examples:\n  # .+\n  service-router ${words}\\b`));
    }
  });

  it('a page without the two comments: refused, so that nothing is overwritten', () => {
    expect(() => replaceGeneratedPart('# A page\n', 'text')).toThrow('the page has no <!-- generated');
  });
});
