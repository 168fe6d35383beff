// Determines the file or URL of this package that the package.json of a new gateway depends on.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { productDir } from '#lib/config/folders.ts';
import { CommandError } from '../../outcome.ts';

/** Maximum output of `npm pack`. The output lists all files of the package, so it exceeds Node's default of 1 MiB. */
const maxPrintedBytes = 67_108_864;

const name = 'service-router';

/** A file of the package that `prepack` compiles. */
const compiledFile = 'dist/dev/setup/run.mjs';

/**
 * Returns the dependency for a gateway in this folder: the file or URL that this package was installed from. The
 * dependency is never a version: npm might look for the version in a different registry, because the gateway does not
 * have the `.npmrc` of the installation. A checkout packs itself into the folder, so that the gateway does not depend
 * on the checkout.
 * @param product the product's code: a checkout, or `node_modules/service-router/dist` below the folder that the
 *   package is installed in
 * @throws CommandError when the source of the package is unknown, or npm did not compile the package; Error with npm's
 *   output when packing fails
 */
export function findPackageSource(folder: string, product = productDir): string {
  if (existsSync(join(product, 'package-lock.json'))) return pack(folder, product);
  const installation = resolve(product, '../../..');
  const resolved = resolvedSource(installation);
  const [, file] = /^file:(.+)$/.exec(resolved) ?? [];
  if (file !== undefined) return fileDependency(folder, join(installation, file));
  if (/^https?:/.test(resolved)) return resolved;
  throw new CommandError([
    `init cannot find out where this installation of ${name} comes from: name its version, URL or file with --package`,
  ]);
}

/** Returns the dependency on a file or a folder, relative to the gateway's folder. */
export function fileDependency(folder: string, path: string): string {
  return `file:${relative(resolve(folder), resolve(path))}`;
}

/** Returns the source of the package as npm recorded it; empty when there is no such record, as with pnpm. */
function resolvedSource(installation: string): string {
  const file = join(installation, 'node_modules/.package-lock.json');
  if (!existsSync(file)) return '';
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages?: Record<string, { resolved?: string }> };
  return packages?.[`node_modules/${name}`]?.resolved ?? '';
}

function pack(folder: string, checkout: string): string {
  mkdirSync(folder, { recursive: true });
  // `prepack` compiles the package, even if the user's npm is configured to run no scripts.
  const args = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', resolve(folder)];
  const printed = execFileSync('npm', args, {
    ...{ cwd: checkout, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    maxBuffer: maxPrintedBytes,
  });
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as [PackedTarball];
  const tarball = join(folder, filename);
  if (!files.some(({ path }) => path === compiledFile)) {
    rmSync(tarball);
    throw new CommandError([`npm pack did not compile the package: ${compiledFile} is not in it`]);
  }
  return fileDependency(folder, tarball);
}

/** What `npm pack --json` prints about a tarball. */
interface PackedTarball {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}
