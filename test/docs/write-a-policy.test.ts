// Tests of docs/how-to/write-a-policy.md: its plugin and its pipeline pass `check`, and a mistake causes the message on
// the page.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCheck } from '../../cli/commands/check.ts';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { codeBlocksOf, readPage, rootDir, sectionOf } from './pages.ts';
import { withSample } from './samples/gateway-sample.ts';

const page = readPage('docs/how-to/write-a-policy.md');
const blockOf = (heading: string, language: string) =>
  codeBlocksOf(sectionOf(page, heading)).find((block) => block.language === language)!.text;

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
  const plugin = blockOf('1. Write the plugin', 'ts');
  const api = JSON.stringify(join(rootDir, 'gateway/plugin-api/index.ts'));
  copy.write('plugins/only-on/index.ts', plugin.replace("'service-router/plugin'", api));
});
afterEach(() => copy.dispose());

/** Runs `check` with the settings of the page and returns the outcome. */
function check(settings: string) {
  copy.write('gateway.config.yml', withSample(readFileSync(join(copy.dir, 'gateway.config.yml'), 'utf8'), settings));
  return runCheck({ dir: copy.dir }, { host: process });
}

it('write-a-policy.md: check accepts the plugin and the settings', async () => {
  expect(await check(blockOf('2. Use it', 'yaml'))).toMatchObject({ exitCode: 0 });
});

it('write-a-policy.md: a list without days causes the message on the page', async () => {
  const { exitCode, lines } = await check(blockOf('2. Use it', 'yaml').replace(/days: \[.*\]/, 'days: []'));
  expect(exitCode).toBe(1);
  const withoutLine = (text: string) => text.trim().replace(/:\d+:\d+:/, ':');
  expect(withoutLine(lines.join('\n'))).toBe(withoutLine(blockOf('3. Check it', 'text')));
});
