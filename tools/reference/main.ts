// Entry point of `npm run docs:reference`: writes the parts of the reference pages that are generated from the code.

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
