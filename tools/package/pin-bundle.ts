// Pins the dependencies of the bundled packages to the installed versions.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Manifest {
  readonly version: string;
  readonly bundleDependencies?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: unknown;
}

/**
 * Rewrites the package.json of every bundled package below `node_modules`, so that it names the versions that are
 * installed with it, and nothing else. The overrides of this repository do not apply where the bundle is installed.
 * Without this change, npm would report as missing the packages that the overrides replace, and `npm ci` would fail.
 */
export function pinBundle(root: string): void {
  const pinned = new Set<string>();
  const pin = (folder: string) => {
    if (pinned.has(folder)) return;
    pinned.add(folder);
    const file = join(folder, 'package.json');
    const { peerDependencies, optionalDependencies, ...manifest } = readManifest(file);
    const wanted = Object.keys({ ...manifest.dependencies, ...optionalDependencies });
    const found = wanted.flatMap((name) => findInstalled(name, folder, root) ?? []);
    const dependencies = Object.fromEntries(found.map(({ name, version }) => [name, version]));
    // The stubs in gateway/overrides/ have no dependencies; their package.json is in this repository and stays as it
    // is.
    if (wanted.length > 0 || peerDependencies !== undefined)
      writeFileSync(file, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
    for (const { path } of found) pin(path);
  };
  for (const name of readManifest(join(root, 'package.json')).bundleDependencies ?? [])
    pin(join(root, 'node_modules', name));
}

/** Finds an installed package as Node does: in the folder's node_modules, then in those above it. */
function findInstalled(name: string, folder: string, root: string) {
  for (let above = folder; above.startsWith(root); above = dirname(above)) {
    const path = join(above, 'node_modules', name);
    if (existsSync(path)) return { name, path, version: readManifest(join(path, 'package.json')).version };
  }
  return undefined;
}

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}
