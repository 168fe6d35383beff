// The versions of one place in gateway.config.yml: which one a request gets, and what is seen of it.

import type { Request, Response } from 'express';
import type { PinnedVersions } from '../../../conductor/definitions/pinned-versions.ts';
import { networkOf } from '../../../gateway/client-address.ts';
import { contextOf, type ExecutionEnding, type RequestContext } from '../../../gateway/contract.ts';
import type { Logger } from '../../../logging/log.ts';
import type { EngineFailures } from './engine-failures.ts';
import { requestedVersion, versionField } from './requested-version.ts';
import { type GuardOptions, type Seen, VersionGuard } from './version-guard.ts';
import type { VersionMetrics } from './version-metrics.ts';
import { VersionSplit } from './version-split.ts';
import { verdictOf } from './version-verdict.ts';

export interface RouteVersionsOptions {
  readonly workflow: string;
  readonly pinned: PinnedVersions;
  /** Undefined: none is ever taken out. */
  readonly guard: GuardOptions | undefined;
}

export interface RouteVersionsParts {
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
  readonly #parts: RouteVersionsParts;
  readonly #split: VersionSplit;
  readonly #versions: readonly number[];
  readonly #guard: VersionGuard | undefined;
  /** Names of the apiEndpoints that were asked for: a pipeline may serve several. */
  readonly #routes = new Set<string>();

  constructor(options: RouteVersionsOptions, parts: RouteVersionsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#split = new VersionSplit(options.workflow, options.pinned.shares);
    this.#versions = [...options.pinned.shares.keys()];
    this.#guard = options.guard && new VersionGuard(options.guard);
  }

  /** For `/health/ready`: the versions that get no traffic. */
  get notices(): string[] {
    const routes = [...this.#routes].join(', ');
    return [...(this.#guard?.out ?? [])].map(
      (version) => `${routes}: version ${version} fails and gets no new traffic`,
    );
  }

  /**
   * The version of a request; an answer says it from now on where there is more than one to have.
   * @throws Problem `workflow-version-forbidden` (403), `unknown-workflow-version` (400)
   */
  choose(request: Request, response: Response): ChosenVersion {
    const context = contextOf(request);
    this.#noteRoute(context.route);
    const chosen = this.#options.pinned.isSplit
      ? requestedVersion(request, context, { versions: this.#versions, scope: this.#parts.scope })
      : undefined;
    const version = chosen ?? this.#split.choose(callerOf(request, context), this.#guard?.out);
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

  /** A gauge that is not there raises no alarm: it begins with 0. */
  #noteRoute(route: string): void {
    if (this.#guard === undefined || this.#routes.has(route)) return;
    this.#routes.add(route);
    for (const version of this.#versions) this.#parts.metrics.isOut({ route, version }, this.#guard.out.has(version));
  }

  #judge(version: number, failed: boolean): void {
    const takenOut = this.#guard?.note(version, { failed }, performance.now());
    if (takenOut === undefined) return;
    for (const route of this.#routes) this.#parts.metrics.isOut({ route, version }, true);
    const { own, others } = takenOut;
    this.#parts.log.error(
      { route: [...this.#routes].join(', '), workflow: this.#options.workflow, workflowVersion: version },
      `version ${version} fails (${describe(own)}; the others ${describe(others)}) and gets no new traffic until this router starts anew`,
    );
  }
}

function describe({ requests, failures }: Seen): string {
  return `${failures} of ${requests}`;
}

/** The OAuth client, else the caller's network: whoever stays the same gets the same version. */
function callerOf({ socket }: Request, { clientId }: RequestContext): string {
  return clientId ?? `address ${networkOf(socket.remoteAddress ?? '')}`;
}
