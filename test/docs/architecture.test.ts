// Tests of docs/explanation/architecture.md: every path that it names exists, and it names every folder of
// plugins/conductor. The README has a line for every top-level folder.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPage, rootDir } from './pages.ts';

const { text } = readPage('docs/explanation/architecture.md');
const spans = [...text.matchAll(/`([^`\s]+)`/g)].map(([, span = '']) => span);
const folders = readdirSync(rootDir, { withFileTypes: true })
  .filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !['node_modules', 'dist'].includes(entry.name),
  )
  .map(({ name }) => name);
const paths = spans.filter((span) => folders.includes(span.split('/')[0] as string) && span.includes('/'));

it('every file and folder that the page names exists', () => {
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(rootDir, path)))).toEqual([]);
});

it('every folder of plugins/conductor is on the page', () => {
  const inside = readdirSync(join(rootDir, 'plugins/conductor'), { withFileTypes: true });
  const missing = inside.filter((entry) => entry.isDirectory() && !paths.includes(`plugins/conductor/${entry.name}`));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

it('there are at most fifteen folders at the top, and the README has a line for each', () => {
  expect(folders.length).toBeLessThanOrEqual(15);
  const layout = readPage('README.md').text;
  expect(folders.filter((folder) => !new RegExp(`^${folder}/ `, 'm').test(layout))).toEqual([]);
});
