// Entry point of `npm run docs:reference`: writes what the reference pages and the README take from the code.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDir } from '../../cli/gateway/gateway-folder.ts';
import { replaceGeneratedParts } from './generated-parts.ts';
import { generatedPages } from './pages.ts';

for (const { file, parts } of generatedPages) {
  const path = join(rootDir, file);
  writeFileSync(path, replaceGeneratedParts({ file, text: readFileSync(path, 'utf8') }, await parts()));
  process.stdout.write(`${file}\n`);
}
