// Tests that the generated parts of the pages are up to date; `npm run docs:reference` writes them.

import { describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { rootDir } from '../../cli/gateway/gateway-folder.ts';
import { readGateway } from '../../cli/gateway/read-gateway.ts';
import { createProgram } from '../../cli/program.ts';
import { parameterCheck } from '../../gateway/configuration/parameter-checks.ts';
import { formatCommands } from '../../tools/reference/cli.ts';
import type { DescribedType } from '../../tools/reference/described-type.ts';
import { replaceGeneratedParts } from '../../tools/reference/generated-parts.ts';
import { generatedPages } from '../../tools/reference/pages.ts';
import { parametersOf, readDeclarations } from '../../tools/reference/policies.ts';
import { readPage } from './pages.ts';

describe('generated parts', () => {
  it.each(generatedPages)('$file is up to date; otherwise run npm run docs:reference', async ({ file, parts }) => {
    const page = readPage(file);
    expect(replaceGeneratedParts(page, await parts())).toBe(page.text);
  });

  it('rejects a page that lacks a generated part or has an unknown one, and inserts `$&` unchanged', () => {
    const page = {
      file: 'page.md',
      text: '# A page\n\n<!-- generated: one (npm run docs:reference) -->\n<!-- end of generated -->\n',
    };
    expect(() => replaceGeneratedParts(page, { one: '', other: '' })).toThrow('page.md has no part "other"');
    expect(() => replaceGeneratedParts(page, {})).toThrow('page.md: nothing generates the part "one"');
    expect(replaceGeneratedParts(page, { one: '$& text' })).toContain('-->\n\n$& text\n\n<!--');
  });
});

it('cli.md: every command has examples that begin with the words of the command', () => {
  const sections = formatCommands(createProgram()).split(/^### /m).slice(1);
  expect(sections.length).toBeGreaterThan(3);
  for (const section of sections) {
    const words = section.split('\n')[0] ?? '';
    expect(section, words).toMatch(new RegExp(`Examples:\n  # .+\n  service-router ${words}\\b`));
  }
});

describe('policies.md', async () => {
  const { config } = await loadConfig({ env: {} });
  const { routes } = await readGateway(config, rootDir);
  const declarations = (await readDeclarations()).map((declaration) => [declaration.name, declaration] as const);

  it.each(declarations)(
    '%s: has a description, a meaning for every parameter, and valid examples',
    (_name, declaration) => {
      const { description, examples = [], ...schema } = declaration.schema as DescribedType;
      expect(description).toMatch(/\.$/);
      const parameters = parametersOf(schema);
      expect(parameters.filter(({ schema: { description: meaning = '' } }) => meaning.length < 10)).toEqual([]);
      const valid = examples.map((example) => structuredClone(example));
      for (const action of valid) {
        const validate = parameterCheck(declaration.schema);
        expect(validate(action), JSON.stringify(validate.errors)).toBe(true);
        expect(declaration.check?.(action as never, { config, rootDir, routes, endpoints: [] }) ?? []).toEqual([]);
      }
      const shown = JSON.stringify(examples);
      const unused = parameters.filter(
        ({ name, schema: { deprecated } }) => deprecated !== true && !shown.includes(`"${name.split('.').at(-1)}"`),
      );
      expect(unused.map(({ name }) => name)).toEqual([]);
    },
  );
});
