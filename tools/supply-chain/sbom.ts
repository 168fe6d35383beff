// Creates the software bill of materials in CycloneDX 1.6: the packages of package-lock.json and the workflow engine.

import { createHash } from 'node:crypto';
import { engineRelease } from '../../dev/engine/release.ts';
import { licenceOf } from './licences.ts';
import { type LockedPackage, type LockFile, resolvePackage } from './lock-file.ts';

/** The part of a CycloneDX component that this tool uses. */
export interface Component {
  readonly type: 'library' | 'application';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  /** `excluded` for packages that are needed for development and tests only. */
  readonly scope?: 'required' | 'optional' | 'excluded';
  readonly hashes?: readonly { readonly alg: 'SHA-512' | 'SHA-256'; readonly content: string }[];
  readonly licenses?: readonly object[];
  readonly purl?: string;
}

/** The part of a CycloneDX document that this tool uses. */
export interface Sbom {
  readonly $schema: string;
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Returns the document. It is reproducible: it has no timestamp, and its serial number is derived from the content. */
export function createSbom(lock: LockFile): Sbom {
  const byPath = new Map(lock.packages.map((locked) => [locked.path, locked]));
  const refsOf = (path: string, names: readonly string[]) => {
    const found = names.map((name) => resolvePackage(byPath, path, name)).filter((locked) => locked !== undefined);
    return [...new Set(found.map(refOf))].sort();
  };
  const self = `${lock.name}@${lock.version}`;
  const engine = describeEngine();
  const dependencies = new Map([[self, [...refsOf('', lock.dependencies), engine['bom-ref']]]]);
  dependencies.set(engine['bom-ref'], []);
  for (const locked of lock.packages) {
    const known = dependencies.get(refOf(locked)) ?? [];
    dependencies.set(refOf(locked), [...new Set([...known, ...refsOf(locked.path, locked.dependencies)])].sort());
  }
  const content = {
    metadata: { component: { type: 'application', 'bom-ref': self, name: lock.name, version: lock.version } },
    components: [...uniqueComponents(lock.packages), engine],
    dependencies: [...dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
  } as const;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
    ...content,
  };
}

/** Merges installations of the same version; the merged component is required if one installation is. */
function uniqueComponents(packages: readonly LockedPackage[]): Component[] {
  const byRef = new Map<string, Component>();
  const rank = { required: 0, optional: 1, excluded: 2 };
  for (const locked of packages) {
    const component = describePackage(locked);
    const known = byRef.get(component['bom-ref']);
    if (known === undefined || rank[component.scope ?? 'required'] < rank[known.scope ?? 'required'])
      byRef.set(component['bom-ref'], component);
  }
  return [...byRef.values()].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
}

function describePackage(locked: LockedPackage): Component & { scope: 'required' | 'optional' | 'excluded' } {
  const { name, version, integrity } = locked;
  const slash = name.indexOf('/');
  const licence = licenceOf(locked);
  return {
    type: 'library',
    'bom-ref': refOf(locked),
    ...(slash === -1 ? { name } : { group: name.slice(0, slash), name: name.slice(slash + 1) }),
    version,
    scope: locked.dev ? 'excluded' : locked.optional ? 'optional' : 'required',
    ...(integrity?.startsWith('sha512-')
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }] }
      : {}),
    ...(licence === undefined ? {} : { licenses: [describeLicence(licence)] }),
    purl: refOf(locked),
  };
}

function describeLicence(licence: string): object {
  return /[ (]/.test(licence) ? { expression: licence } : { license: { id: licence } };
}

function describeEngine(): Component {
  const [group = '', name = '', version = '', type = '', classifier = ''] = engineRelease.coordinates.split(':');
  const purl = `pkg:maven/${group}/${name}@${version}?classifier=${classifier}&type=${type}`;
  const hashes = [{ alg: 'SHA-256', content: engineRelease.sha256 }] as const;
  const licenses = [{ license: { id: 'Apache-2.0' } }];
  return { type: 'application', 'bom-ref': purl, group, name, version, scope: 'required', hashes, licenses, purl };
}

/** Returns the package URL; the `@` of a scope is percent-encoded. */
function refOf({ name, version }: LockedPackage): string {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;
}

/** Returns a UUID derived from a string (RFC 9562 section 5.8, version 8). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}
