// Tests of the verification of large files by digest, and of the location of the user's cache.

import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyAndStamp, cacheFolder, isStamped } from '../../../dev/engine/jar.ts';

const content = 'not really an engine';
const file = {
  fileName: 'engine.jar',
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
};
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jar-'));
  path = join(folder, file.fileName);
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('verifyAndStamp', () => {
  it('stamps a file with the right digest', async () => {
    writeFileSync(path, content);
    expect(await isStamped(path, file)).toBe(false);
    await verifyAndStamp(path, file);
    expect(await isStamped(path, file)).toBe(true);
  });

  it('removes a file with a wrong digest and names both digests', async () => {
    writeFileSync(path, content.toUpperCase());
    await expect(verifyAndStamp(path, file)).rejects.toThrow(
      new RegExp(`engine.jar has the wrong content[\\s\\S]*expected 20 bytes, sha256 ${file.sha256}\n  got      20`),
    );
    expect(existsSync(path)).toBe(false);
    expect(await isStamped(path, file)).toBe(false);
  });
});

describe('isStamped', () => {
  it('returns false for a file that was changed or touched after it was stamped', async () => {
    writeFileSync(path, content);
    await verifyAndStamp(path, file);
    utimesSync(path, new Date(), new Date(1_000_000));
    expect(await isStamped(path, file)).toBe(false);
  });

  it('returns false when another release is wanted', async () => {
    writeFileSync(path, content);
    await verifyAndStamp(path, file);
    expect(await isStamped(path, { ...file, sha256: '0'.repeat(64) })).toBe(false);
  });
});

describe('cacheFolder', () => {
  it('is in the usual cache folder of each system', () => {
    expect(cacheFolder({ HOME: '/home/x' }, 'linux')).toBe('/home/x/.cache/service-router');
    expect(cacheFolder({ HOME: '/Users/x' }, 'darwin')).toBe('/Users/x/Library/Caches/service-router');
    expect(cacheFolder({ HOME: '/home/x', XDG_CACHE_HOME: '/var/c' }, 'linux')).toBe('/var/c/service-router');
  });
});
