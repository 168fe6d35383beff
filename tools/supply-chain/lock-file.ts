// Reads package-lock.json.

import { readFileSync } from 'node:fs';

/** An installed package. */
export interface LockedPackage {
  /** Folder relative to the root. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** SPDX expression in its package.json; undefined when it has none. */
  readonly licence: string | undefined;
  /** `sha512-…` in base64. */
  readonly integrity: string | undefined;
  /** Whether the package is needed for development and tests only. */
  readonly dev: boolean;
  /** Whether the package may be missing, such as one for another platform. */
  readonly optional: boolean;
  /** Names of its dependencies. */
  readonly dependencies: readonly string[];
}

/** A parsed lock file. */
export interface LockFile {
  readonly name: string;
  readonly version: string;
  /** Names of the project's direct dependencies. */
  readonly dependencies: readonly string[];
  /** Packages from the registry, in the order of the file, without the stubs in `gateway/overrides/`. */
  readonly packages: readonly LockedPackage[];
  /** Names of packages that are replaced by stubs. */
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

/** Reads a lock file. @param path path of a lock file of version 3 */
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
    // An alias is installed under a name that differs from its published name.
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

/** Resolves `name` from the package in `path` (empty for the root) by Node's algorithm. */
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
