// Tests that docs/reference/package.md names everything that the three entry points of the package export, and nothing
// else.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { readPage, rootDir, rowsOf, sectionOf } from './pages.ts';

const page = readPage('docs/reference/package.md');
const modules = {
  'service-router/worker': 'workers/worker-api.ts',
  'service-router/plugin': 'gateway/plugin-api/index.ts',
  'service-router/testing': 'dev/testing/index.ts',
};

/** Returns the names that a module exports, including types and names from `export *`. */
function exportsOf(file: string): string[] {
  const path = join(rootDir, file);
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement): string[] => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause, moduleSpecifier } = statement;
      if (exportClause !== undefined && ts.isNamedExports(exportClause))
        return exportClause.elements.map(({ name }) => name.text);
      return exportsOf(join(dirname(file), (moduleSpecifier as ts.StringLiteral).text));
    }
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    const { name } = statement as ts.Statement & { name?: ts.Identifier };
    return isExported && name !== undefined ? [name.text] : [];
  });
}

it.each(Object.entries(modules))('the page lists exactly the exports of %s', (name, file) => {
  const rows = rowsOf(sectionOf(page, `\`${name}\``));
  const documented = rows.flatMap(([names = '']) => names.match(/\w+/g) ?? []);
  expect(documented.toSorted()).toEqual(exportsOf(file).toSorted());
});
