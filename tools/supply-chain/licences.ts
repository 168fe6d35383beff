// Checks that the licences of all installed packages are allowed.

import type { LockedPackage } from './lock-file.ts';

/** Allowed SPDX identifiers. All of them permit use and distribution in a proprietary product. */
export const allowedLicences: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
];

/** Allowed SPDX identifiers of packages for development and tests, which are neither deployed nor modified. */
export const allowedForDevelopment: readonly string[] = [...allowedLicences, 'MPL-2.0'];

/** Licences of packages without an SPDX licence in package.json, taken from the LICENSE or README of the version. */
export const reviewedLicences: Readonly<Record<string, string>> = {
  'buildcheck@0.0.7': 'MIT',
  'compute-gcd@1.2.1': 'MIT',
  'compute-lcm@1.1.2': 'MIT',
  'cpu-features@0.0.10': 'MIT',
  'parent-require@1.0.0': 'MIT',
  'passport-http@0.3.0': 'MIT',
  'passport-http-bearer@1.0.1': 'MIT',
  'passport-local@1.0.0': 'MIT',
  'passport-oauth2-client-password@0.1.2': 'MIT',
  'passport-strategy@1.0.0': 'MIT',
  'ssh2@1.17.0': 'MIT',
  'validate.io-function@1.0.2': 'MIT',
  'validate.io-integer@1.0.5': 'MIT',
  'validate.io-integer-array@1.0.0': 'MIT',
  'validate.io-number@1.0.3': 'MIT',
};

/** Returns the SPDX expression of a package; undefined when it is unknown. */
export function licenceOf({ name, version, licence }: Pick<LockedPackage, 'name' | 'version' | 'licence'>) {
  return licence ?? reviewedLicences[`${name}@${version}`];
}

/** Returns one line for each package whose licence is unknown or not allowed. */
export function licenceProblems(packages: readonly LockedPackage[]): string[] {
  return packages.flatMap((locked) => {
    const licence = licenceOf(locked);
    const named = `${locked.name} ${locked.version}`;
    if (licence === undefined) return [`${named}: no licence is known`];
    const allowed = locked.dev ? allowedForDevelopment : allowedLicences;
    return isAllowed(licence, allowed) ? [] : [`${named}: ${licence} is not allowed`];
  });
}

/** Evaluates `A OR B` and `A AND B`. More complex expressions are not allowed, so that they get a manual review. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const plain = expression.replace(/^\(([^()]*)\)$/, '$1');
  if (plain.includes(' OR ')) return plain.split(' OR ').some((part) => isAllowed(part, allowed));
  return plain.split(' AND ').every((licence) => allowed.includes(licence));
}
