// Parses the workflow versions of a route in gateway.config.yml: `version: 2`, or `versions: { 1: 10, 2: 90 }`.

import { isJsonObject } from '#lib/json/json-object.ts';

/** Unvalidated parameters of the policy `workflow`. */
export interface PinParameters {
  readonly version?: unknown;
  readonly versions?: unknown;
  readonly versionGuard?: unknown;
}

/**
 * Share of clients by version, in ascending order of versions. Shares have no unit: each is relative to the sum of all.
 */
export type VersionShares = ReadonlyMap<number, number>;

/** The workflow versions that a route starts. */
export interface PinnedVersions {
  /** At least one share is above 0. A single version has the share 1. */
  readonly shares: VersionShares;
  /** True for `versions`: responses then state the version, and permitted clients may choose one. */
  readonly isSplit: boolean;
}

const example = 'such as `versions: { 1: 10, 2: 90 }`';
/** Matches a positive integer as written in JSON and YAML. */
const versionPattern = /^[1-9]\d{0,8}$/;

/** Parses the parameters. `pinned` is absent when there are `problems`; each problem includes advice. */
export function readPinnedVersions({ version, versions, versionGuard }: PinParameters): {
  readonly pinned?: PinnedVersions;
  readonly problems: readonly string[];
} {
  if (version !== undefined && versions !== undefined)
    return { problems: ['version and versions are both given: keep one of them'] };
  const problems = versions === undefined ? checkVersion(version) : checkShares(versions);
  if (problems.length > 0) return { problems };
  const shares = versions === undefined ? new Map([[version as number, 1]]) : sharesOf(versions as object);
  const pinned = { shares, isSplit: versions !== undefined };
  if (versionGuard !== undefined && [...shares.values()].filter((share) => share > 0).length < 2)
    return {
      problems: ['versionGuard compares versions: give at least two of them a share above 0, or remove versionGuard'],
    };
  return { pinned, problems: [] };
}

function checkVersion(version: unknown): string[] {
  if (version === undefined)
    return [`needs a version: write \`version: 1\`, or give several versions with their shares, ${example}`];
  if (Number.isSafeInteger(version) && (version as number) >= 1) return [];
  return [`version is ${JSON.stringify(version)}: use a whole number, 1 or more`];
}

function checkShares(versions: unknown): string[] {
  if (!isJsonObject(versions)) return [`versions is not a map: name each version with its share, ${example}`];
  const entries = Object.entries(versions);
  if (entries.length === 0) return [`versions is empty: name each version with its share, ${example}`];
  const problems = entries.flatMap(([version, share]) => {
    if (!versionPattern.test(version))
      return [`versions has the key "${version}": use whole numbers, 1 or more, ${example}`];
    if (Number.isSafeInteger(share) && (share as number) >= 0) return [];
    return [
      `versions: the share of version ${version} is ${JSON.stringify(share)}: use whole numbers, 0 or more, ${example}`,
    ];
  });
  if (problems.length > 0 || entries.some(([, share]) => (share as number) > 0)) return problems;
  return [
    `versions: the shares sum to 0, so no version would get a request: give at least one version a share above 0, ${example}`,
  ];
}

function sharesOf(versions: object): VersionShares {
  const shares = Object.entries(versions).map(([version, share]) => [Number(version), share as number] as const);
  return new Map(shares.toSorted(([one], [other]) => one - other));
}

/** Returns a string such as `v2` or, with shares in percent, `v1 10 %, v2 90 %`. */
export function describeShares({ shares, isSplit }: PinnedVersions): string {
  const sum = [...shares.values()].reduce((total, share) => total + share, 0);
  const percent = (share: number) => Math.round((1_000 * share) / sum) / 10;
  return [...shares]
    .map(([version, share]) => (isSplit ? `v${version} ${percent(share)} %` : `v${version}`))
    .join(', ');
}
