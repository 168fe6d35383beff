// What package-lock.json says of every package that set-up installs.

import { readFileSync } from 'node:fs';

/** One installed package. */
export interface LockedPackage {
  /** Folder below the root; it tells which copy another package gets. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** SPDX expression of its package.json; undefined when that has none in this form. */
  readonly licence: string | undefined;
  /** `sha512-…` in base64. */
  readonly integrity: string | undefined;
  /** Only for development and tests. */
  readonly dev: boolean;
  /** May be missing, such as what is made for another platform. */
  readonly optional: boolean;
  /** Names of the packages it depends on. */
  readonly dependencies: readonly string[];
}

export interface LockFile {
  readonly name: string;
  readonly version: string;
  /** What the project itself depends on. */
  readonly dependencies: readonly string[];
  /** Packages from the registry, in the order of the file; our stubs of `gateway/overrides/` are none of them. */
  readonly packages: readonly LockedPackage[];
  /** Names in whose place a stub of ours is installed. */
  readonly stubs: readonly string[];
}

interface Entry {
  version?: string;
  name?: string;
  license?: string;
  integrity?: string;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  link?: boolean;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const folder = 'node_modules/';

/** @param path of a lock file of version 3 */
export function readLockFile(path: string): LockFile {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Entry> };
  const { '': root = {}, ...others } = packages;
  const installed = Object.entries(others).filter(([place]) => place.includes(folder));
  return {
    name: root.name ?? '',
    version: root.version ?? '',
    dependencies: namesOf(root),
    packages: installed.filter(([, { link }]) => !link).map(([place, entry]) => describe(place, entry)),
    stubs: installed.filter(([, { link }]) => link).map(([place]) => nameOf(place)),
  };
}

function describe(path: string, entry: Entry): LockedPackage {
  return {
    path,
    // An alias is installed under another name than it was published with.
    name: entry.name ?? nameOf(path),
    version: entry.version ?? '',
    licence: typeof entry.license === 'string' ? entry.license : undefined,
    integrity: entry.integrity,
    dev: entry.dev ?? false,
    optional: (entry.optional ?? false) || (entry.devOptional ?? false),
    dependencies: namesOf(entry),
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(folder) + folder.length);
}

function namesOf({ dependencies, devDependencies, optionalDependencies, peerDependencies }: Entry): string[] {
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies };
  return Object.keys(all).sort();
}

/** The copy of `name` that the package in `path` gets (the root: an empty path), as Node looks for it. */
export function resolvePackage(
  byPath: ReadonlyMap<string, LockedPackage>,
  path: string,
  name: string,
): LockedPackage | undefined {
  const nested = byPath.get(path === '' ? `${folder}${name}` : `${path}/${folder}${name}`);
  if (nested !== undefined || path === '') return nested;
  const parent = path.lastIndexOf(`/${folder}`);
  return resolvePackage(byPath, parent === -1 ? '' : path.slice(0, parent), name);
}
