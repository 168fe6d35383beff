// Tests of the smaller stand-ins, of the behaviour that all stand-ins share, and of their process.

import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Sync } from '../../../dev/back-ends/data-warehouse.ts';
import { startBackEnds } from '../../../dev/back-ends/start-back-ends.ts';
import { startProgram } from '../../stack/program.ts';
import { type FreshBackEnds, startFreshBackEnds } from './fresh-back-ends.ts';

let backEnds: FreshBackEnds;
beforeAll(async () => {
  backEnds = await startFreshBackEnds();
});
afterAll(() => backEnds.stop());

describe('data warehouse', () => {
  test('the sync of a college: its counts match its lists', async () => {
    const { status, body } = await backEnds.get('/lms-dw/001/dataSync/');
    expect(status).toBe(200);
    const sync = body as Sync;
    expect(sync).toMatchObject({ collegeId: '001', syncId: expect.any(String), generatedAt: expect.any(String) });
    expect(sync.counts).toMatchObject({
      courseShells: sync.courseShells.length,
      enrollments: sync.enrollments.length,
      students: new Set(sync.enrollments.filter(({ role }) => role === 'student').map((each) => each.sisPersonId)).size,
    });
    const shells = sync.courseShells.map(({ courseShellId }) => courseShellId);
    expect(shells).toEqual(expect.arrayContaining(sync.enrollments.map(({ courseShellId }) => courseShellId)));
  });

  test('a college that has synced nothing yet → empty lists', async () => {
    expect((await backEnds.get('/lms-dw/003/dataSync/')).body).toMatchObject({
      counts: { courseShells: 0, enrollments: 0 },
      courseShells: [],
    });
  });

  test('an unknown college → 404; another method → 405', async () => {
    expect(await backEnds.get('/lms-dw/999/dataSync/')).toMatchObject({
      status: 404,
      body: { code: 'unknown-college' },
    });
    const { status, headers } = await backEnds.call('POST', '/lms-dw/001/dataSync/');
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('movies', () => {
  test.each([
    ['Metropolis', 'Metropolis'],
    ['tHE%20gENERAL', 'The General'],
    ['am%C3%A9lie', 'Amélie'],
    ['ame%CC%81lie', 'Amélie'],
    ['AM%C3%89LIE', 'Amélie'],
    ["What's%20Opera%2C%20Doc%3F", "What's Opera, Doc?"],
    ['face%2Foff', 'Face/Off'],
    ['2001:%20a%20space%20odyssey', '2001: A Space Odyssey'],
  ])('/movies/%s → %s', async (path, title) => {
    expect(await backEnds.get(`/movies/${path}`)).toMatchObject({
      status: 200,
      body: { title, year: expect.any(Number), director: expect.any(String), cast: expect.any(Array) },
    });
  });

  test('an unknown title → 404', async () => {
    expect(await backEnds.get('/movies/Nothing')).toMatchObject({ status: 404, body: { code: 'unknown-movie' } });
    expect((await backEnds.get('/movies/Face/Off')).status).toBe(404);
  });

  test('every title in the list is found', async () => {
    const titles = (await backEnds.get('/movies')).body as string[];
    for (const title of titles) {
      expect((await backEnds.get(`/movies/${encodeURIComponent(title)}`)).body).toMatchObject({ title });
    }
  });

  test('HEAD has the headers of GET and no body', async () => {
    const response = await fetch(`${backEnds.url}/movies/Metropolis`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100);
  });
});

test('all written data survives a restart', async () => {
  const person = '/adaptors/001/mock/colleges/001/persons/0320991';
  const notification = { misCode: '001', sisPersonId: '0320991', cccid: 'RESTART', executionId: 'before-restart' };
  const reads = [person, '/lms-dw/001/dataSync/', '/mdm/governance-log', '/mdm/golden-records', '/mdm/crosswalk'];
  await backEnds.call('PATCH', person, { body: { cccid: 'RESTART' } });
  await backEnds.call('POST', '/mdm/notifications', { body: notification });
  const before = await Promise.all(reads.map(async (path) => (await backEnds.get(path)).body));
  await backEnds.restart();
  expect(await Promise.all(reads.map(async (path) => (await backEnds.get(path)).body))).toEqual(before);
});

test('a state file of another version → an error that names the file', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'back-ends-'));
  const file = join(stateDir, 'back-ends.sqlite');
  const database = new DatabaseSync(file);
  database.exec('PRAGMA user_version = 77');
  database.close();
  await expect(startBackEnds({ port: 0, stateDir })).rejects.toThrow(`${file} is from another version`);
  rmSync(stateDir, { recursive: true });
});

test('a taken port → an error that names the port and its variable', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'back-ends-'));
  const port = Number(new URL(backEnds.url).port);
  await expect(startBackEnds({ port, stateDir })).rejects.toThrow(`port ${port} is taken: set BACKENDS_PORT`);
  rmSync(stateDir, { recursive: true });
});

/** Returns the lines of an output that are not JSON; there should be none. */
const nonJsonLinesOf = (output: string) => output.split('\n').filter((line) => line !== '' && !line.startsWith('{'));

test('the process keeps its state through SIGKILL, prints only log lines, and exits with 0 on SIGTERM', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'back-ends-'));
  const env = { BACKENDS_PORT: '0', STATE_DIR: stateDir };
  const person = '/adaptors/002/mock/colleges/002/persons/B00418990';

  const first = await startProgram('dev/back-ends/main.ts', env);
  const patched = await fetch(`${String(first.ready['url'])}${person}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{"cccid":"KILLED1"}',
  });
  expect(patched.status).toBe(200);
  await first.kill();

  const second = await startProgram('dev/back-ends/main.ts', env);
  const read = await fetch(`${String(second.ready['url'])}${person}`);
  expect(await read.json()).toMatchObject({ cccid: 'KILLED1' });
  const open = fetch(`${String(second.ready['url'])}/adaptors/001/mock/faults/never`).catch(() => 'cut');
  await fetch(`${String(second.ready['url'])}/movies/Metropolis`);
  expect(await second.stop()).toBe(0);
  expect(await open).toBe('cut');
  expect(nonJsonLinesOf(second.output())).toEqual([]);
  rmSync(stateDir, { recursive: true });
});
