// Finds and repairs executions that the engine lost between a successful PATCH and MDM, in bounded rounds.

import { notifyWorkflow, patchWorkflow, shareWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { Case } from '#lib/conductor/executions/reconciler-terminations.ts';
import { classify } from './classify.ts';
import type { DecisionContext } from './decision.ts';
import { EventBacklog, type ReadQueueSizes } from './event-backlog.ts';
import { inParallel } from './in-parallel.ts';
import { type ReconcileFinding, Inspection } from './inspection.ts';
import type { MdmDefinitions } from './mdm-definitions.ts';
import { type OpenExecution, OpenExecutions } from './open-executions.ts';
import { ProbeLimiter } from './probe-limiter.ts';
import { RelatedExecutions } from './related-executions.ts';
import { EndedScan, OpenScan, type ScanResult } from './scan.ts';

/** Dependencies and limits. */
export interface ReconcileRoundsOptions {
  readonly api: ExecutionApi;
  readonly readQueueSizes: ReadQueueSizes;
  /** The follow-ups that executions should have; read at the start of each round. */
  readonly mdmDefinitions: MdmDefinitions;
  readonly codec: DecisionContext['codec'];
  /** Grace period for the engine before an execution is repaired, in milliseconds. */
  readonly afterMs: number;
  /** How far back the first scan goes, in milliseconds before now. */
  readonly lookBackMs: number;
  /** Returns the time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /**
   * Returns a monotonic time in milliseconds, which corrections of the clock do not change. Default: `performance.now`.
   */
  readonly monotonicNow?: () => number;
}

/** Options of one round. */
export interface RunOptions {
  readonly dryRun?: boolean;
  readonly onFinding?: (finding: ReconcileFinding) => void;
}

/** Result of one round. */
export interface RoundReport {
  /** Index rows that were read. */
  readonly scanned: number;
  /** Executions that were read in full. */
  readonly inspected: number;
  readonly findings: readonly ReconcileFinding[];
  /** Number of executions with a missing follow-up that is not repaired, by case. */
  readonly unreconciled: ReadonlyMap<Case, number>;
  /** False when a limit was reached or the round failed; the next round continues where this round stopped. */
  readonly isComplete: boolean;
  /** The error that ended the round, such as an EngineError. The findings include what was done before the error. */
  readonly failure?: unknown;
}

/** The results of a round so far. */
interface Round {
  scanned: number;
  isComplete: boolean;
  readonly inspected: Set<string>;
  readonly findings: ReconcileFinding[];
}

/** Limits of one round. */
const maxPages = 40;
const maxOpenPages = 5;
const maxInspected = 200;
/**
 * Number of executions inspected concurrently. This allows about a hundred repairs a second and uses only a fraction of
 * the engine's connections.
 */
export const concurrentInspections = 8;
/** Number of executions whose follow-up executions are read together, shortly before the executions are inspected. */
const chunkSize = 50;
/**
 * Number of grace periods after which ended executions are read a second time. The first scan misses rows that enter
 * the index late, because an engine was frozen between two writes or its clock is behind: they have an end time that
 * the scan has already passed.
 */
const secondScanAfter = 15;

/**
 * Runs reconcile rounds on the engine's executions. Its state is in memory and can be lost: a new instance scans again
 * from `lookBackMs` ago.
 */
export class ReconcileRounds {
  readonly #options: ReconcileRoundsOptions;
  readonly #now: () => number;
  readonly #open: OpenExecutions;
  #mdmDefinitions: MdmDefinitions;
  #ended: readonly EndedScan[];
  readonly #openScan: OpenScan;
  #probeLimiter: ProbeLimiter;
  /** The latest time seen, in milliseconds since 1970. */
  #latestAt = 0;
  readonly #backlog: EventBacklog;

  constructor(options: ReconcileRoundsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#open = new OpenExecutions(options.afterMs);
    this.#probeLimiter = new ProbeLimiter(options.afterMs);
    this.#backlog = new EventBacklog(options.afterMs);
    this.#mdmDefinitions = options.mdmDefinitions;
    this.#ended = this.#createScans();
    this.#openScan = new OpenScan(options.api);
  }

  /**
   * Runs one round: scans the index, inspects due executions and repairs them. Never rejects.
   * @param dryRun when true, reports findings without repairing them
   * @param onFinding called with each finding immediately
   */
  async run({ dryRun = false, onFinding = () => undefined }: RunOptions = {}): Promise<RoundReport> {
    const round: Round = { scanned: 0, isComplete: true, inspected: new Set(), findings: [] };
    let failure: unknown;
    try {
      this.#rescanAfterClockWasSetBack();
      this.#useDefinitions(this.#options.mdmDefinitions);
      await this.#scan(round);
      await this.#backlog.refresh(this.#options.readQueueSizes);
      await this.#settleByIndex();
      await this.#inspectDue(round, { dryRun, onFinding });
    } catch (error) {
      failure = error;
    }
    const { scanned, inspected, findings } = round;
    return {
      ...{ scanned, inspected: inspected.size, findings, unreconciled: this.#open.unreconciled() },
      isComplete: round.isComplete && failure === undefined,
      ...(failure === undefined ? {} : { failure }),
    };
  }

  /**
   * Scans everything again after this router's clock has been set back by more than `afterMs`. The scans have already
   * passed times that now come again, and pauses would last too long. Smaller corrections do no harm, because
   * consecutive ranges of a scan overlap by `afterMs`.
   */
  #rescanAfterClockWasSetBack(): void {
    const now = this.#now();
    const isSetBack = now < this.#latestAt - this.#options.afterMs;
    this.#latestAt = isSetBack ? now : Math.max(this.#latestAt, now);
    if (!isSetBack) return;
    this.#ended = this.#createScans();
    this.#probeLimiter = new ProbeLimiter(this.#options.afterMs);
    this.#open.makeAllDue(now);
  }

  /**
   * Scans everything again after the definitions have changed, because executions may have different follow-ups now.
   */
  #useDefinitions(mdmDefinitions: MdmDefinitions): void {
    if (mdmDefinitions === this.#mdmDefinitions) return;
    this.#mdmDefinitions = mdmDefinitions;
    this.#ended = this.#createScans();
    this.#open.makeAllDue(this.#now());
  }

  #createScans(): readonly EndedScan[] {
    const { api, lookBackMs, afterMs } = this.#options;
    const now = this.#now();
    const types = [patchWorkflow, notifyWorkflow, shareWorkflow];
    const secondLagMs = afterMs * secondScanAfter;
    const scans = [
      { from: now - lookBackMs, lagMs: afterMs },
      { from: now - secondLagMs, lagMs: secondLagMs },
    ];
    return scans.flatMap((scan) =>
      types.map((workflowType) => new EndedScan(api, { workflowType, ...scan, overlapMs: afterMs })),
    );
  }

  async #scan(round: Round): Promise<void> {
    const now = this.#now();
    this.#addFound(await this.#openScan.next(now - this.#options.afterMs, maxOpenPages), round);
    for (const ended of this.#ended) {
      if (this.#open.isFull) round.isComplete = false;
      else this.#addFound(await ended.next(now, maxPages), round);
    }
  }

  #addFound({ rows, isComplete }: ScanResult, round: Round): void {
    round.scanned += rows.length;
    round.isComplete &&= isComplete;
    for (const summary of rows) {
      const kind = classify(summary, this.#mdmDefinitions);
      if (kind !== null) this.#open.add(summary, kind, this.#now());
    }
  }

  /**
   * Removes due executions for which the index alone shows that nothing is missing, and defers those whose event may
   * still be queued.
   */
  async #settleByIndex(): Promise<void> {
    const now = this.#now();
    const due = this.#open.due(now).filter(({ summary }) => summary !== null && hasEnded(summary));
    const queued: OpenExecution[] = [];
    for (const chunk of chunksOf(due)) {
      const related = await this.#loadRelated(chunk);
      for (const open of chunk) {
        const isSettled = related.isSettledByIndex(open);
        if (isSettled) this.#open.remove(open.workflowId, now);
        if (isSettled) this.#probeLimiter.release(open.workflowId);
        const endedAt = open.kind === 'patch' ? endOf(open) : undefined;
        if (isSettled && endedAt !== undefined) this.#backlog.noteHandled(endedAt);
        else if (endedAt !== undefined) queued.push(open);
      }
    }
    for (const open of queued)
      if (this.#backlog.mayContain(endOf(open) ?? 0, now)) this.#open.retrySoon(open.workflowId, now);
  }

  async #inspectDue(round: Round, { dryRun, onFinding }: Required<RunOptions>): Promise<void> {
    const { api, codec, afterMs, monotonicNow = () => performance.now() } = this.#options;
    const inspection = new Inspection({
      ...{ api, dryRun, now: this.#now, monotonicNow },
      ...{ open: this.#open, probeLimiter: this.#probeLimiter, backlog: this.#backlog },
      context: { mdmDefinitions: this.#mdmDefinitions, codec, afterMs },
      onFinding: (finding) => {
        round.findings.push(finding);
        onFinding(finding);
      },
    });
    const mayStart = (open: OpenExecution) => inspection.mayStart(open);
    const due = this.#open.due(this.#now()).filter(mayStart);
    for (const chunk of chunksOf(due.slice(0, maxInspected))) {
      const related = await this.#loadRelated(chunk);
      const work = (open: OpenExecution) => {
        round.inspected.add(open.workflowId);
        return inspection.inspect(open, related);
      };
      await inParallel(chunk, { limit: concurrentInspections, mayStart, work });
    }
    const isLeft = (open: OpenExecution) => !round.inspected.has(open.workflowId) || open.waitsFor !== undefined;
    if (this.#open.due(this.#now()).some((open) => isLeft(open) && mayStart(open))) round.isComplete = false;
  }

  async #loadRelated(chunk: readonly OpenExecution[]): Promise<RelatedExecutions> {
    const related = new RelatedExecutions(this.#options.api);
    await related.load(chunk.filter(({ kind }) => kind !== 'other').map(({ source }) => source));
    return related;
  }
}

/**
 * Returns the time at which an execution completed, according to its index row, in milliseconds since 1970; undefined
 * when the row is absent or has any other state.
 */
function endOf({ summary }: OpenExecution): number | undefined {
  return summary?.status === 'COMPLETED' ? Date.parse(summary.endTime ?? '') || undefined : undefined;
}

function chunksOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, index) =>
    items.slice(index * chunkSize, (index + 1) * chunkSize),
  );
}
