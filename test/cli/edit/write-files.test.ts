// Tests of how a command writes several files: all or none, without overwriting what another program has written.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { editFile, writeFilesVerified } from '../../../cli/edit/write-files.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'write-files-'));
  write('a.yml', 'a');
  write('b.yml', 'b');
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (file: string, text: string) => writeFileSync(join(dir, file), text);
const textOf = (file: string) => readFileSync(join(dir, file), 'utf8');
const append = (file: string) => editFile(dir, file, (text) => `${text} and mine`);
const failed = new Error('the check failed');
const fail = () => Promise.reject(failed);

it('writes every file, and returns what the check returns', async () => {
  const changes = new Map([
    ['a.yml', append('a.yml')],
    ['new/c.json', { before: undefined, after: 'c' }],
  ]);
  expect(await writeFilesVerified(dir, changes, async () => textOf('a.yml'))).toBe('a and mine');
  expect(textOf('new/c.json')).toBe('c');
});

it('restores every file when the check fails', async () => {
  const changes = new Map([
    ['a.yml', append('a.yml')],
    ['c.json', { before: undefined, after: 'c' }],
  ]);
  await expect(writeFilesVerified(dir, changes, fail)).rejects.toThrow(failed);
  expect([textOf('a.yml'), existsSync(join(dir, 'c.json'))]).toEqual(['a', false]);
});

it('restores bytes that are not UTF-8', async () => {
  const bytes = Buffer.from('# caf\xe9\n', 'latin1');
  writeFileSync(join(dir, 'a.yml'), bytes);
  await expect(writeFilesVerified(dir, new Map([['a.yml', append('a.yml')]]), fail)).rejects.toThrow(failed);
  expect(readFileSync(join(dir, 'a.yml'))).toEqual(bytes);
});

it('writes nothing when a file has changed since it was read', async () => {
  const changes = new Map([
    ['a.yml', append('a.yml')],
    ['b.yml', append('b.yml')],
  ]);
  write('b.yml', 'b and theirs');
  await expect(writeFilesVerified(dir, changes, fail)).rejects.toThrow(
    /^b\.yml was changed by another program in the meantime: nothing was added; run the command again$/,
  );
  expect([textOf('a.yml'), textOf('b.yml')]).toEqual(['a', 'b and theirs']);
});

it('writes nothing when a new file already exists', async () => {
  write('c.json', 'theirs');
  const changes = new Map([['c.json', { before: undefined, after: 'mine' }]]);
  await expect(writeFilesVerified(dir, changes, fail)).rejects.toThrow(/^c\.json was changed by another program/);
  expect(textOf('c.json')).toBe('theirs');
});

it('does not restore a file that has changed since it was written, and names that file', async () => {
  const changes = new Map([
    ['a.yml', append('a.yml')],
    ['b.yml', append('b.yml')],
  ]);
  const check = async () => {
    write('a.yml', `${textOf('a.yml')} and theirs`);
    throw failed;
  };
  await expect(writeFilesVerified(dir, changes, check)).rejects.toThrow(
    /^the check failed\na\.yml was changed by another program in the meantime: remove by hand what this command added to it$/,
  );
  expect([textOf('a.yml'), textOf('b.yml')]).toEqual(['a and mine and theirs', 'b']);
});
