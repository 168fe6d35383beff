// Finds out where npm gets this package from, for the dependency in the package.json of a new gateway.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { productDir, productVersion } from '#lib/config/folders.ts';

/** npm lists all files of the package, which takes more than Node's default of 1 MiB. */
const maxPrintedBytes = 67_108_864;

const inNodeModules = 'node_modules/service-router';

/**
 * Returns the dependency for a gateway in this folder: the file that this package was installed from, or its version in
 * the registry. A checkout packs itself into the folder, so that the gateway does not depend on the checkout.
 * @throws Error with npm's output when packing fails
 */
export function findPackageSource(folder: string): string {
  if (existsSync(join(productDir, 'package-lock.json'))) return pack(folder);
  // productDir is node_modules/service-router/dist below the folder that the package is installed in.
  const installation = resolve(productDir, '../../..');
  const file = installedFile(installation);
  return file === undefined ? `^${productVersion()}` : fileDependency(folder, join(installation, file));
}

/** Returns the dependency on a file or a folder, relative to the gateway's folder. */
export function fileDependency(folder: string, path: string): string {
  return `file:${relative(resolve(folder), resolve(path))}`;
}

/** Returns the path of the tarball, relative to the installation, as npm records it; undefined if the package came from a registry. */
function installedFile(installation: string): string | undefined {
  const lock = join(installation, 'node_modules/.package-lock.json');
  if (!existsSync(lock)) return undefined;
  const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as { packages?: Record<string, { resolved?: string }> };
  const [, file] = /^file:(.+)$/.exec(packages?.[inNodeModules]?.resolved ?? '') ?? [];
  return file;
}

function pack(folder: string): string {
  const args = ['pack', '--json', '--pack-destination', resolve(folder)];
  const printed = execFileSync('npm', args, {
    ...{ cwd: productDir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    maxBuffer: maxPrintedBytes,
  });
  const [{ filename }] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as [{ filename: string }];
  return fileDependency(folder, join(folder, filename));
}
