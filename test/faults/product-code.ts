// Identifies the code that runs in production, so that the results of the fault cases are shown only for this code.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** Paths of the code that runs in production. Changes elsewhere, such as in tests, leave results valid. */
const productPaths = [
  ...['lib', 'gateway', 'plugins', 'workers', 'jobs', 'workflows', 'event-handlers', 'config'],
  ...['gateway.config.yml', 'package-lock.json'],
];

/**
 * Returns twelve hexadecimal digits that identify the product's code, with `+` when there are uncommitted changes.
 * The digits do not depend on comments and documentation: changes to them leave results valid as well.
 */
export function productCode(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: rootDir, encoding: 'utf8' });
  const hash = createHash('sha256');
  const files = git('ls-files', '-z', '--', ...productPaths)
    .split('\0')
    .slice(0, -1);
  for (const file of files)
    hash.update(`${file}\0${withoutComments(file, readFileSync(join(rootDir, file), 'utf8'))}\0`);
  const isChanged = git('status', '--porcelain', '--', ...productPaths) !== '';
  return `${hash.digest('hex').slice(0, 12)}${isChanged ? '+' : ''}`;
}

/** Returns the text of a file without comments; an empty text for a Markdown file. */
export function withoutComments(file: string, text: string): string {
  if (file.endsWith('.md')) return '';
  if (/\.(?:properties|ya?ml)$/.test(file)) return text.replaceAll(/^[ \t]*#.*\n?/gm, '');
  if (!/\.[jt]s$/.test(file)) return text;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  return ts.createPrinter({ removeComments: true }).printFile(source);
}
