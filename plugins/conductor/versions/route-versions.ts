// Chooses the workflow version for each request of a route and judges versions by the outcomes of their requests.

import type { Request, Response } from 'express';
import type { PinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import { callerOf } from '../../../gateway/plugin-api/client-address.ts';
import { contextOf } from '../../../gateway/plugin-api/plugin-api.ts';
import type { ExecutionEnding } from '../execution/outcome.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { EngineFailures } from './engine-failures.ts';
import { requestedVersion, versionField } from './requested-version.ts';
import type { OutcomeCounts } from '../execution/outcome-window.ts';
import type { GuardedRoutes } from './version-guard.ts';
import type { GuardedVersion, VersionMetrics } from './version-metrics.ts';
import { VersionSplit } from './version-split.ts';
import { verdictOf } from './version-verdict.ts';

/** Settings of {@link RouteVersions}. */
export interface RouteVersionsOptions {
  readonly workflow: string;
  readonly pinned: PinnedVersions;
  /** Guard that removes failing versions; undefined when there is none. */
  readonly guarded: GuardedRoutes | undefined;
}

/** Dependencies of {@link RouteVersions}. */
export interface RouteVersionsDependencies {
  /** Scope that lets a client choose its version; undefined when no client may choose. */
  readonly scope: string | undefined;
  readonly metrics: VersionMetrics;
  readonly engineFailures: EngineFailures;
  readonly log: Logger;
}

/** The version that serves one request. */
export interface ChosenVersion {
  readonly version: number;
  /**
   * Call it once when the execution has ended.
   * @param ms milliseconds since the head of the request arrived
   */
  ended(ending: ExecutionEnding, ms: number): void;
}

/** Chooses workflow versions for the requests of one route. */
export class RouteVersions {
  readonly #options: RouteVersionsOptions;
  readonly #dependencies: RouteVersionsDependencies;
  readonly #split: VersionSplit;
  readonly #versions: readonly number[];

  constructor(options: RouteVersionsOptions, dependencies: RouteVersionsDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#split = new VersionSplit(options.workflow, options.pinned.shares);
    this.#versions = [...options.pinned.shares.keys()];
  }

  /** Notices for `/health/ready`: versions that were removed from the split. */
  get notices(): string[] {
    const { guarded } = this.#options;
    return [...(guarded?.guard.removed ?? [])].map(
      (version) => `${routesOf(guarded)}: version ${version} failed too often; the router no longer chooses it`,
    );
  }

  /**
   * Every version on every route that has received a request. Versions that are not removed are listed too, because
   * alarms need a gauge that always exists.
   */
  get guardedVersions(): GuardedVersion[] {
    const { guarded } = this.#options;
    if (guarded === undefined) return [];
    const { guard, routes } = guarded;
    return [...routes].flatMap((route) =>
      this.#versions.map((version) => ({ route, version, isRemoved: guard.removed.has(version) })),
    );
  }

  /**
   * Chooses the version for a request and adds it to the log and the response.
   * @throws Problem `workflow-version-forbidden` (403), `unknown-workflow-version` (400)
   */
  choose(request: Request, response: Response): ChosenVersion {
    const context = contextOf(request);
    const { pinned, guarded } = this.#options;
    guarded?.routes.add(context.route);
    const chosen = pinned.isSplit
      ? requestedVersion(request, context, { versions: this.#versions, scope: this.#dependencies.scope })
      : undefined;
    // The client id is hashed without the prefix that `callerOf` adds. The prefix would change the hash, so an upgrade
    // of the router would move clients to other versions.
    const client = context.clientId ?? callerOf(request);
    const version = chosen ?? this.#split.choose(client, guarded?.guard.removed);
    this.show(version, response);
    const startedAt = performance.now();
    return {
      version,
      ended: (ending, ms) => {
        const verdict = verdictOf(ending, this.#dependencies.engineFailures.since(startedAt));
        this.#dependencies.metrics.ended({ route: context.route, version }, verdict, ms);
        // Requests whose client chose the version are trials. The guard counts only requests whose version the split
        // assigned.
        if (chosen === undefined && verdict !== 'not-counted') this.#judge(version, verdict === 'failed');
      },
    };
  }

  /**
   * Sets the version in the log and the response: the chosen version, or the version that served the first request with
   * the same Idempotency-Key.
   */
  show(version: number, response: Response): void {
    contextOf(response.req).workflowVersion = version;
    if (this.#options.pinned.isSplit) response.setHeader(versionField, String(version));
  }

  #judge(version: number, failed: boolean): void {
    const { workflow, guarded } = this.#options;
    const removal = guarded?.guard.note(version, { failed }, performance.now());
    if (removal === undefined) return;
    const { own, others } = removal;
    this.#dependencies.log.error(
      { route: routesOf(guarded), workflow, workflowVersion: version },
      `version ${version} failed too often (${describe(own)} requests; the other versions: ${describe(others)}): the router does not choose it until the versions, shares or versionGuard of this route are changed in gateway.config.yml, or this router is restarted`,
    );
  }
}

function routesOf(guarded: GuardedRoutes | undefined): string {
  return [...(guarded?.routes ?? [])].join(', ');
}

function describe({ requests, failures }: OutcomeCounts): string {
  return `${failures} of ${requests}`;
}
