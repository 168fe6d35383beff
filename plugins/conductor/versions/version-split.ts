// Which version of a workflow a client gets: the same one each time, without a store, in the configured shares.

import { createHash } from 'node:crypto';

/** Shares by version: `{ 1: 10, 2: 90 }`. Any unit; a version with 0 is reached by override only. */
export type VersionShares = Readonly<Record<string, number>>;

/** Versions and their shares, checked. */
export class VersionSplit {
  readonly #workflow: string;
  readonly #shares: ReadonlyMap<number, number>;

  /**
   * @param workflow name of the definition: a client may get the new version of one workflow and the old of another
   * @throws Error when there is no version, or the shares sum to 0
   */
  constructor(workflow: string, shares: VersionShares) {
    this.#workflow = workflow;
    this.#shares = new Map(Object.entries(shares).map(([version, share]) => [Number(version), share]));
    const sum = [...this.#shares.values()].reduce((total, share) => total + share, 0);
    if (sum === 0) throw new Error(`versions of ${workflow}: the shares sum to 0, so no version would get a request`);
  }

  /** Every version of the split, also those with share 0. */
  get versions(): readonly number[] {
    return [...this.#shares.keys()];
  }

  /**
   * The version of a client: weighted rendezvous hashing. When shares change, only as many clients change their version
   * as the change of the shares asks for.
   * @param without versions that get no traffic now; ignored when no other has a share
   */
  choose(clientId: string, without: ReadonlySet<number> = new Set()): number {
    const all = [...this.#shares].filter(([, share]) => share > 0);
    const open = all.filter(([version]) => !without.has(version));
    const candidates = open.length > 0 ? open : all;
    let best = candidates[0] as readonly [number, number];
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const candidate of candidates) {
      const [version, share] = candidate;
      const score = -share / Math.log(this.#placeOf(clientId, version));
      if (score > bestScore) [best, bestScore] = [candidate, score];
    }
    return best[0];
  }

  /** Evenly spread in (0, 1), and the same on every router. */
  #placeOf(clientId: string, version: number): number {
    const digest = createHash('sha256').update(`${this.#workflow}\n${version}\n${clientId}`).digest();
    return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48;
  }
}
