// Tests of the search for markers: as plain text, inside base64, and in a table of the engine.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { sqliteStore } from './engine-database.ts';
import { createMarkers } from './markers.ts';

const { credential, personal, findIn } = createMarkers();

it('finds markers in plain text, each once', () => {
  const text = `{"a":"${credential('secret')}","b":["${personal('name')}","${personal('name')}"]}`;
  expect(findIn(text)).toEqual([credential('secret'), personal('name')]);
  expect(findIn(Buffer.from(`\0${text}`))).toHaveLength(2);
});

it.each([0, 1, 2, 3])('finds a marker in base64, with %i bytes before it', (before) => {
  const encoded = Buffer.from(`${'x'.repeat(before)}${personal('name')}:rest`);
  expect(findIn(encoded.toString('base64'))).toHaveLength(1);
  expect(findIn(encoded.toString('base64url'))).toHaveLength(1);
});

it('finds nothing in a text without markers', () => {
  expect(findIn(createMarkers().credential('of another run'))).toEqual([]);
});

it('finds a marker in a table, and in the file after its row has been deleted', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'secrets-'));
  mkdirSync(join(stateDir, 'engine'));
  const database = new DatabaseSync(join(stateDir, 'engine', 'conductor.db'));
  database.exec('CREATE TABLE task (id INTEGER, json_data TEXT)');
  database.prepare('INSERT INTO task VALUES (?, ?)').run(1, personal('name'));
  const inTables = async () => findIn((await sqliteStore(stateDir).tables()).get('task') ?? '');
  expect(await inTables()).toEqual([personal('name')]);
  database.exec('DELETE FROM task');
  expect(await inTables()).toEqual([]);
  expect(findIn(sqliteStore(stateDir).files().get('conductor.db') ?? '')).toEqual([personal('name')]);
  database.close();
  rmSync(stateDir, { recursive: true });
});
