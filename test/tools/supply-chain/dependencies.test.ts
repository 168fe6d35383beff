// Tests of the packages in the lock file: no known advisories, only allowed licences, and a digest for each.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  allowedForDevelopment,
  allowedLicences,
  licenceProblems,
  reviewedLicences,
} from '../../../tools/supply-chain/licences.ts';
import { readLockFile } from '../../../tools/supply-chain/lock-file.ts';
import { readPage, rootDir, rowsOf, sectionOf } from '../../docs/pages.ts';

const lock = readLockFile(join(rootDir, 'package-lock.json'));
const page = readPage('docs/reference/supply-chain.md');
const installed = (name: string) =>
  [...new Set(lock.packages.filter((locked) => locked.name === name).map(({ version }) => version))].sort();

/** The advisories listed on the page. The tests check them without `npm audit`, which not every registry supports. */
const advisories = rowsOf(sectionOf(page, 'Advisories that the overrides resolve')).map(
  ([name = '', weak = '', ids = '', versions = '']) => ({ name, weak, ids, versions }),
);

describe('advisories', () => {
  it.each(advisories)('$name $weak ($ids): not installed, as the page says', ({ name, weak, versions }) => {
    expect(weak).toMatch(/^(all|< \d+\.\d+\.\d+)$/);
    const isWeak = (version: string) =>
      weak === 'all' || version.localeCompare(weak.slice(2), 'en', { numeric: true }) < 0;
    expect(installed(name).join(', ') || '-').toBe(versions);
    expect(installed(name).filter(isWeak)).toEqual([]);
  });

  it('every override of package.json is an installed stub or an installed version', () => {
    const { overrides } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as {
      overrides: { 'express-gateway': Record<string, string> };
    };
    for (const [name, target] of Object.entries(overrides['express-gateway'])) {
      if (target.startsWith('file:')) expect(lock.stubs).toContain(name);
      else expect(installed(name)).toEqual([expect.stringMatching(/^\d/)]);
    }
  });
});

describe('licences', () => {
  it('every package has a known and allowed licence', () => {
    expect(lock.packages.length).toBeGreaterThan(300);
    expect(licenceProblems(lock.packages)).toEqual([]);
  });

  it('every manually reviewed version is installed, and the lock file names no licence for it', () => {
    for (const named of Object.keys(reviewedLicences)) {
      const locked = lock.packages.find(({ name, version }) => `${name}@${version}` === named);
      expect([named, locked?.licence]).toEqual([named, undefined]);
      expect(locked).toBeDefined();
    }
  });

  it.each([
    [{ licence: 'GPL-3.0-only' }, ['p 1.0.0: GPL-3.0-only is not allowed']],
    [{ licence: undefined }, ['p 1.0.0: no licence is known']],
    [{ licence: 'SEE LICENSE IN x' }, ['p 1.0.0: SEE LICENSE IN x is not allowed']],
    [{ licence: 'MPL-2.0' }, ['p 1.0.0: MPL-2.0 is not allowed']],
    [{ licence: 'MPL-2.0', dev: true }, []],
    [{ licence: '(MIT OR GPL-2.0)' }, []],
    [{ licence: 'MIT AND GPL-2.0' }, ['p 1.0.0: MIT AND GPL-2.0 is not allowed']],
  ])('%j → %j', (given, problems) => {
    const locked = { path: '', name: 'p', version: '1.0.0', integrity: '', dev: false, optional: false };
    expect(licenceProblems([{ ...locked, dependencies: [], ...given }])).toEqual(problems);
  });

  it('the page names the allowed licences', () => {
    const documented = rowsOf(sectionOf(page, 'Licences')).map(([licence]) => licence);
    expect(documented).toEqual([...allowedForDevelopment]);
    expect(allowedForDevelopment).toEqual(expect.arrayContaining([...allowedLicences]));
  });
});

it('every package has a SHA-512 digest, so that npm installs exactly the locked content', () => {
  expect(lock.packages.filter(({ integrity }) => !integrity?.startsWith('sha512-')).map(({ name }) => name)).toEqual(
    [],
  );
});
