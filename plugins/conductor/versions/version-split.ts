// Assigns a workflow version to each client by weighted rendezvous hashing: stable, without a store, in the configured
// shares.

import { hash } from 'node:crypto';
import type { VersionShares } from '#lib/conductor/definitions/pinned-versions.ts';

const none: ReadonlySet<number> = new Set();

/** Assigns clients to the versions of one workflow, in the configured shares. */
export class VersionSplit {
  readonly #workflow: string;
  /** Versions with a share above 0. A version with share 0 is used only by clients that choose it. */
  readonly #shares: readonly (readonly [version: number, share: number])[];

  /**
   * @param workflow name of the definition; it is part of the hash, so a client may get the new version of one workflow
   *   and the old version of another
   * @param shares at least one is above 0
   */
  constructor(workflow: string, shares: VersionShares) {
    this.#workflow = workflow;
    this.#shares = [...shares].filter(([, share]) => share > 0);
  }

  /**
   * Returns the version for a client (weighted rendezvous hashing, Schindelhauer and Schomaker, 2005). When shares
   * change, only as many clients change their version as the new shares require.
   * @param without versions that get no traffic now; ignored when no other version has a share
   */
  choose(clientId: string, without: ReadonlySet<number> = none): number {
    const available = this.#shares.filter(([version]) => !without.has(version));
    const candidates = available.length > 0 ? available : this.#shares;
    let best = candidates[0] as readonly [number, number];
    if (candidates.length === 1) return best[0];
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const candidate of candidates) {
      const [version, share] = candidate;
      const score = -share / Math.log(this.#hashOf(clientId, version));
      if (score > bestScore) [best, bestScore] = [candidate, score];
    }
    return best[0];
  }

  /** Returns a hash that is uniform in (0, 1) and equal on every router. */
  #hashOf(clientId: string, version: number): number {
    const digest = hash('sha256', `${this.#workflow}\n${version}\n${clientId}`, 'buffer');
    return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48;
  }
}
