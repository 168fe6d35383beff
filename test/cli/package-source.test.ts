// Tests of the dependency that `init` writes: where each kind of installation gets the package from.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findPackageSource } from '../../cli/commands/init/package-source.ts';
import { CommandError } from '../../cli/outcome.ts';

let dir: string;
/** Folder of the new gateway. */
let gateway: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'package-source-'));
  gateway = join(dir, 'gateways/our-gateway');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

describe('in an installation', () => {
  /** The `dist` folder of the installed package. */
  const product = () => join(dir, 'installation/node_modules/service-router/dist');

  function install(resolved: string | undefined): void {
    mkdirSync(product(), { recursive: true });
    const packages = { 'node_modules/service-router': { version: '1.2.3', resolved } };
    writeFileSync(join(dir, 'installation/node_modules/.package-lock.json'), JSON.stringify({ packages }));
  }

  it('from a file: the path of the file, relative to the gateway', () => {
    install('file:../service-router-1.2.3.tgz');
    expect(findPackageSource(gateway, product())).toBe('file:../../service-router-1.2.3.tgz');
  });

  it.each([
    ['a URL', 'https://files.example/service-router-1.2.3.tgz'],
    // A version would not be enough: npm could use another registry, because the gateway does not have the
    // installation's .npmrc.
    ['a registry', 'https://registry.example/service-router/-/service-router-1.2.3.tgz'],
  ])('from %s: the URL', (_what, resolved) => {
    install(resolved);
    writeFileSync(
      join(dir, 'installation/package.json'),
      JSON.stringify({ dependencies: { 'service-router': '^1.2.0' } }),
    );
    expect(findPackageSource(gateway, product())).toBe(resolved);
  });

  it.each([
    ['without the lock file of npm (global, pnpm, Yarn)', () => mkdirSync(product(), { recursive: true })],
    ['whose lock file does not say where the package comes from', () => install(undefined)],
    ['from a Git repository', () => install('git+ssh://git@git.example/router.git#0f1e2d3')],
  ])('%s: init asks for --package and writes nothing', (_what, make) => {
    make();
    const find = () => findPackageSource(gateway, product());
    expect(find).toThrow(CommandError);
    expect(find).toThrow(/--package/);
    expect(existsSync(gateway)).toBe(false);
  });
});

describe('in a clone', () => {
  /** Puts a fake npm on the PATH. The tarball that it writes has dist/ if the shell condition `compiles` is true. */
  function fakeNpm(compiles: string): void {
    const npm = join(dir, 'npm');
    writeFileSync(
      npm,
      `#!/bin/sh
file=package.json
if ${compiles}; then file=dist/dev/setup/run.mjs; fi
touch "${gateway}/service-router-1.2.3.tgz"
echo '> prepack [done]'
printf '[\\n{ "filename": "service-router-1.2.3.tgz", "files": [{ "path": "%s" }] }]' $file
`,
    );
    chmodSync(npm, 0o755);
    vi.stubEnv('PATH', `${dir}:/usr/bin:/bin`);
  }

  it('packs the compiled product into the folder, even if npm is configured to ignore scripts', () => {
    fakeNpm('echo "$*" | grep -q -- --ignore-scripts=false');
    expect(findPackageSource(gateway)).toBe('file:service-router-1.2.3.tgz');
  });

  it('rejects a package without the compiled product, and leaves no package behind', () => {
    fakeNpm('false');
    expect(() => findPackageSource(gateway)).toThrow(CommandError);
    expect(() => findPackageSource(gateway)).toThrow(/dist\/dev\/setup\/run\.mjs/);
    expect(readdirSync(gateway)).toEqual([]);
  });
});
