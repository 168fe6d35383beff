// The files that docs/add-a-route.md and docs/mdm.md tell people to write pass the product's own checks.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCheck } from '../../cli/check.ts';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { codeBlocksOf, readPage, sectionOf } from './pages.ts';

const page = readPage('docs/add-a-route.md');
/** Under names of its own, so that the tests also pass where somebody has followed the page. */
const blocksOf = (heading: string) =>
  codeBlocksOf(sectionOf(page, heading)).map(({ text }) => text.replaceAll('catalog', 'example'));

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

it('add-a-route.md: task type, workflow and gateway configuration together → check shows the new route', async () => {
  copy.write('workflows/tasks/example_intake.json', blocksOf('1. The task type')[0]!);
  copy.write('workflows/exampleWF.v1.json', blocksOf('2. The workflow')[0]!);
  const [endpoint, pipeline] = blocksOf('5. The gateway configuration');
  copy.replace('gateway.config.yml', '\nplugins:\n', `${endpoint}\nplugins:\n`);
  copy.replace('gateway.config.yml', '\npipelines:\n', `\npipelines:\n${pipeline}\n`);
  const { exitCode, lines } = await runCheck({ dir: copy.dir }, { host: process });
  expect({ exitCode, problems: exitCode === 0 ? [] : lines }).toEqual({ exitCode: 0, problems: [] });
  const shown = blocksOf('6. Try it').find((text) => text.includes('example_intake'))!;
  expect(lines).toContain(shown.trimEnd().split('\n').at(-1));
});

it('mdm.md: the handler of another college, copied with its code replaced → nothing is wrong', async () => {
  const handler = readFileSync(join(copy.dir, 'event-handlers/mdm-share-002.json'), 'utf8');
  copy.write('event-handlers/mdm-share-003.json', handler.replaceAll('002', '003'));
  expect(await runCheck({ dir: copy.dir }, { host: process })).toMatchObject({ exitCode: 0 });
});
