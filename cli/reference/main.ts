// Entry point of `npm run docs:cli`: writes the CLI's help into README.md and docs/cli.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../program.ts';
import { rootDir } from '../root-dir.ts';
import { replaceGeneratedPart } from './generated-part.ts';
import { pages } from './pages.ts';

for (const { file, format } of pages) {
  const path = join(rootDir, file);
  writeFileSync(path, replaceGeneratedPart(readFileSync(path, 'utf8'), format(createProgram())));
  process.stdout.write(`${file}\n`);
}
