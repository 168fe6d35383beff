// Tests that the steps of docs/how-to/add-a-route.md pass the product's own checks.

import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCheck } from '../../cli/commands/check.ts';
import { commitAll } from '../cli/commit-all.ts';
import { runCli } from '../cli/run-cli.ts';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { requires } from '../run/requirements.ts';
import { codeBlocksOf, readPage, sectionOf } from './pages.ts';

const page = readPage('docs/how-to/add-a-route.md');
/**
 * Returns the code blocks of a section with the routes renamed, so that the tests also pass in a checkout that already
 * has the routes of the page.
 */
const blocksOf = (heading: string) =>
  codeBlocksOf(sectionOf(page, heading)).map(({ text }) =>
    text.replaceAll('catalog', 'example').replaceAll('orders', 'samples'),
  );

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

/** Runs the first command of a section as a shell would. */
function runFirst(heading: string) {
  const [command = ''] = blocksOf(heading);
  const [, args = ''] = /^npm run -s router -- (.+)\n$/.exec(command) ?? [];
  return runCli([...args.split(' ').map((word) => word.replace(/^'(.*)'$/, '$1')), '--dir', copy.dir]);
}

it(
  'add-a-route.md: the command prints the output and writes the pipeline that the page shows',
  requires('git'),
  async () => {
    commitAll(copy.dir);
    const { stdout, stderr } = await runFirst('A plain back end');
    expect(stderr).toBe('');
    // The page shows the output of a command that runs in the gateway's own folder.
    const folder = relative('.', copy.dir);
    const there = stdout.replace(`-C ${folder} `, '').replaceAll(`${folder}/`, '');
    expect(there).toBe(blocksOf('A plain back end')[1]);
    const [shown = ''] = blocksOf('The pipeline');
    const written = parse(readFileSync(join(copy.dir, 'gateway.config.yml'), 'utf8')) as typeof shownPipelines;
    const shownPipelines = parse(shown) as { pipelines: Record<string, unknown> };
    expect(written.pipelines).toMatchObject(shownPipelines.pipelines);
    const { lines } = await runCheck({ dir: copy.dir }, { host: process });
    expect(lines).toEqual(expect.arrayContaining(blocksOf('The definitions')[0]!.trimEnd().split('\n')));
  },
);

it('add-a-route.md: the command for a route with writes succeeds', async () => {
  expect(await runFirst('Writes')).toMatchObject({ exitCode: 0, stderr: '' });
});
