// Tests of the changes that the file watcher reports: writes, renames and new symbolic link targets, but not a new
// modification time.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { digestsOf, type FileWatch, watchFiles } from '#lib/process/watch-files.ts';
import { pollUntil } from '../../stack/poll-until.ts';

let dir: string;
let watch: FileWatch | undefined;
let changes: number;
let looks: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'service-router-watch-'));
  changes = 0;
  looks = 0;
});
afterEach(async () => {
  await watch?.stop();
  rmSync(dir, { recursive: true });
});

async function start(...files: string[]): Promise<void> {
  const paths = files.map((file) => join(dir, file));
  const look = () => {
    looks += 1;
    return paths;
  };
  watch = await watchFiles({ intervalMs: 5, files: look, onChange: () => (changes += 1) });
}

/** Waits for further polls. */
async function pollsPass(count = 4): Promise<void> {
  const until = looks + count;
  await pollUntil('the files to be polled', () => looks >= until);
}

const changesAre = (count: number) => pollUntil(`change ${count} to be seen`, () => changes === count);

it('reports one change for a write in place and none for a touch', async () => {
  writeFileSync(join(dir, 'map.yml'), 'a');
  await start('map.yml');
  writeFileSync(join(dir, 'map.yml'), 'b');
  await changesAre(1);
  utimesSync(join(dir, 'map.yml'), new Date(), new Date());
  await pollsPass();
  expect(changes).toBe(1);
});

it('reports one change for each file renamed over the path, which is how editors save', async () => {
  writeFileSync(join(dir, 'map.yml'), 'a');
  await start('map.yml');
  for (const round of [1, 2, 3]) {
    writeFileSync(join(dir, 'map.yml.new'), `content ${round}`);
    renameSync(join(dir, 'map.yml.new'), join(dir, 'map.yml'));
    await changesAre(round);
  }
});

it('reports one change for each swap of a symbolic link, which is how Kubernetes updates a ConfigMap', async () => {
  const publish = (name: string) => {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, 'map.yml'), name);
    symlinkSync(name, join(dir, '..data_tmp'));
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
  };
  publish('..2026_01');
  symlinkSync('..data/map.yml', join(dir, 'map.yml'));
  await start('map.yml');
  publish('..2026_02');
  rmSync(join(dir, '..2026_01'), { recursive: true });
  await changesAre(1);
  publish('..2026_03');
  await changesAre(2);
});

it('reports the creation, change and removal of a file', async () => {
  await start('map.yml', 'extra.properties');
  for (const [round, content] of ['a', 'b'].entries()) {
    writeFileSync(join(dir, 'extra.properties'), content);
    await changesAre(round + 1);
  }
  rmSync(join(dir, 'extra.properties'));
  await changesAre(3);
});

it('reports one change for a file that has changed since the known digests were computed', async () => {
  const files = ['map.yml', 'extra.properties'].map((file) => join(dir, file));
  writeFileSync(join(dir, 'map.yml'), 'a');
  const known = await digestsOf(files);
  writeFileSync(join(dir, 'map.yml'), 'b');
  const look = () => {
    looks += 1;
    return files;
  };
  watch = await watchFiles({ intervalMs: 5, files: look, known, onChange: () => (changes += 1) });
  await changesAre(1);
  await pollsPass();
  expect(changes).toBe(1);
});

it('reports each poll that finds unchanged, stable content', async () => {
  writeFileSync(join(dir, 'map.yml'), 'a');
  const reports: string[] = [];
  const files = () => {
    // The second and third polls each find content that differs from that of the previous poll.
    if (looks === 1 || looks === 2) writeFileSync(join(dir, 'map.yml'), `content ${looks}`);
    looks += 1;
    return [join(dir, 'map.yml')];
  };
  const onChange = () => void reports.push('change');
  const onNoChange = () => void reports.push('no change');
  watch = await watchFiles({ intervalMs: 5, files, onChange, onNoChange });
  await pollUntil('four reports', () => reports.length >= 4);
  expect(reports.slice(0, 4)).toEqual(['change', 'no change', 'no change', 'no change']);
});

it('reports no change when the content keeps changing and then returns to the original', async () => {
  writeFileSync(join(dir, 'map.yml'), 'a');
  const path = [join(dir, 'map.yml')];
  let reading = 0;
  watch = await watchFiles({
    intervalMs: 5,
    files() {
      // The content differs at each poll, so it is never stable.
      if (reading++ > 0 && reading < 10) writeFileSync(join(dir, 'map.yml'), reading % 2 === 0 ? 'b' : 'a');
      if (reading === 10) writeFileSync(join(dir, 'map.yml'), 'a');
      return path;
    },
    onChange: () => (changes += 1),
  });
  await pollUntil('the files to be polled', () => reading > 14);
  expect(changes).toBe(0);
});
