// The versions of one place in gateway.config.yml: which one a request gets, and what is seen of it.

import type { Request, Response } from 'express';
import type { PinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import { callerOf } from '../../../gateway/plugin-api/client-address.ts';
import { contextOf, type ExecutionEnding } from '../../../gateway/plugin-api/plugin-api.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { EngineFailures } from './engine-failures.ts';
import { requestedVersion, versionField } from './requested-version.ts';
import type { Judged, Seen } from './version-guard.ts';
import type { GuardedVersion, VersionMetrics } from './version-metrics.ts';
import { VersionSplit } from './version-split.ts';
import { verdictOf } from './version-verdict.ts';

export interface RouteVersionsOptions {
  readonly workflow: string;
  readonly pinned: PinnedVersions;
  /** By its guard; undefined: none is ever taken out. */
  readonly judged: Judged | undefined;
}

export interface RouteVersionsDependencies {
  /** Scope whose clients may choose; undefined = nobody. */
  readonly scope: string | undefined;
  readonly metrics: VersionMetrics;
  readonly engineFailures: EngineFailures;
  readonly log: Logger;
}

/** The version of one request. */
export interface ChosenVersion {
  readonly version: number;
  /** To be told once how its execution ended. @param ms since the head of the request */
  ended(ending: ExecutionEnding, ms: number): void;
}

export class RouteVersions {
  readonly #options: RouteVersionsOptions;
  readonly #parts: RouteVersionsDependencies;
  readonly #split: VersionSplit;
  readonly #versions: readonly number[];

  constructor(options: RouteVersionsOptions, parts: RouteVersionsDependencies) {
    this.#options = options;
    this.#parts = parts;
    this.#split = new VersionSplit(options.workflow, options.pinned.shares);
    this.#versions = [...options.pinned.shares.keys()];
  }

  /** For `/health/ready`: the versions that get no traffic. */
  get notices(): string[] {
    const { judged } = this.#options;
    return [...(judged?.guard.out ?? [])].map(
      (version) => `${routesOf(judged)}: version ${version} fails and gets no new traffic`,
    );
  }

  /** Every version, on every route that was asked for: a gauge that is not there raises no alarm. */
  get guarded(): GuardedVersion[] {
    const { judged } = this.#options;
    if (judged === undefined) return [];
    const { guard, routes } = judged;
    return [...routes].flatMap((route) =>
      this.#versions.map((version) => ({ route, version, isOut: guard.out.has(version) })),
    );
  }

  /**
   * The version of a request; an answer says it from now on where there is more than one to have.
   * @throws Problem `workflow-version-forbidden` (403), `unknown-workflow-version` (400)
   */
  choose(request: Request, response: Response): ChosenVersion {
    const context = contextOf(request);
    const { pinned, judged } = this.#options;
    judged?.routes.add(context.route);
    const chosen = pinned.isSplit
      ? requestedVersion(request, context, { versions: this.#versions, scope: this.#parts.scope })
      : undefined;
    // The bare id: clients keep their version when the router is upgraded.
    const client = context.clientId ?? callerOf(request);
    const version = chosen ?? this.#split.choose(client, judged?.guard.out);
    this.show(version, response);
    const startedAt = performance.now();
    return {
      version,
      ended: (ending, ms) => {
        const verdict = verdictOf(ending, this.#parts.engineFailures.since(startedAt));
        this.#parts.metrics.ended({ route: context.route, version }, verdict, ms);
        // Who chooses a version tries it: a version is judged by the traffic it was given.
        if (chosen === undefined && verdict !== 'not-counted') this.#judge(version, verdict === 'failed');
      },
    };
  }

  /** Log and answer name a version: the one chosen, or that of the first request with the same Idempotency-Key. */
  show(version: number, response: Response): void {
    contextOf(response.req).workflowVersion = version;
    if (this.#options.pinned.isSplit) response.setHeader(versionField, String(version));
  }

  #judge(version: number, failed: boolean): void {
    const { workflow, judged } = this.#options;
    const takenOut = judged?.guard.note(version, { failed }, performance.now());
    if (takenOut === undefined) return;
    const { own, others } = takenOut;
    this.#parts.log.error(
      { route: routesOf(judged), workflow, workflowVersion: version },
      `version ${version} fails (${describe(own)}; the others ${describe(others)}) and gets no new traffic until the map has other versions here, or this router starts anew`,
    );
  }
}

function routesOf(judged: Judged | undefined): string {
  return [...(judged?.routes ?? [])].join(', ');
}

function describe({ requests, failures }: Seen): string {
  return `${failures} of ${requests}`;
}
