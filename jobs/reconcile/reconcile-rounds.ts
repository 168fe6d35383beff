// Finds and repairs executions that the engine lost between a successful PATCH and MDM, in bounded rounds.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { applyDecision } from './apply-decision.ts';
import { classify, type ExecutionKind } from './classify.ts';
import { decideNotification, decideShare, decideUpdate } from './decide-notification.ts';
import { decideOther } from './decide-other.ts';
import { decidePatch } from './decide-patch.ts';
import type { Case, Decision, DecisionContext } from './decision.ts';
import {
  type MdmDefinitions,
  notifyWorkflow,
  patchWorkflow,
  shareWorkflow,
  UnknownVersion,
  updateWorkflow,
} from './mdm-definitions.ts';
import { OpenExecutions, type OpenExecution } from './open-executions.ts';
import { probedBackEnd, probeStateOf } from './probe.ts';
import { RelatedExecutions } from './related-executions.ts';
import { EndedScan, OpenScan } from './scan.ts';
import { type ProbeTarget, ProbeLimiter } from './probe-limiter.ts';

/** Dependencies and limits. */
export interface ReconcileRoundsOptions {
  readonly api: ExecutionApi;
  /** The follow-ups that executions should have; read at the start of each round. */
  readonly mdmDefinitions: MdmDefinitions;
  readonly codec: DecisionContext['codec'];
  /** True when MDM publishes updates to the broker's queues: their executions are reconciled too. */
  readonly withUpdates: boolean;
  /** Grace period for the engine before an execution is repaired, in milliseconds. */
  readonly afterMs: number;
  /** Age at which the first scan starts, in milliseconds. */
  readonly lookBackMs: number;
  /** Returns the time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** One execution with a missing follow-up, and what a round did about it. */
export interface Finding {
  readonly executionId: string;
  readonly case: Case;
  readonly action: 'continued' | 'retried' | 'started' | 'terminated' | 'asked' | 'none';
  /** The repair that a dry run did not apply. */
  readonly wouldBe?: Repair;
  /** Ids of the executions that were started. */
  readonly started: readonly string[];
  /** Why nothing was done or the repair failed. */
  readonly reason?: string;
}

/** Kinds of decisions that change something in the engine. */
export type Repair = 'resume' | 'start' | 'replace' | 'end' | 'ask';

/** Result of one round. */
export interface RoundReport {
  /** Index rows that were read. */
  readonly scanned: number;
  /** Executions that were read in full. */
  readonly inspected: number;
  readonly findings: readonly Finding[];
  /** Number of executions with a missing follow-up that is not repaired, by case. */
  readonly unreconciled: ReadonlyMap<Case, number>;
  /** False when a limit was reached; the next round continues there. */
  readonly isComplete: boolean;
}

/** `inspect`: dry run; `wait`: the limit of repairs is reached, and the next round continues. */
type RepairMode = 'inspect' | 'repair' | 'wait';

/** Limits of one round. */
const maxPages = 40;
const maxOpenPages = 5;
const maxInspected = 200;
const maxRepairs = 100;

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
  readonly #probeLimiter: ProbeLimiter;

  constructor(options: ReconcileRoundsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#open = new OpenExecutions(options.afterMs);
    this.#probeLimiter = new ProbeLimiter(options.afterMs);
    this.#mdmDefinitions = options.mdmDefinitions;
    this.#ended = this.#createScans();
    this.#openScan = new OpenScan(options.api);
  }

  /**
   * Runs one round: scans the index, inspects due executions and repairs them.
   * @param dryRun when true, reports findings without repairing them
   * @throws EngineError when the engine is unavailable; scanned executions are kept for the next round
   */
  async run({ dryRun = false } = {}): Promise<RoundReport> {
    this.#useDefinitions(this.#options.mdmDefinitions);
    const scan = await this.#scan();
    const due = this.#open.due(this.#now());
    const related = new RelatedExecutions(this.#options.api);
    await related.load(due.filter(({ kind }) => kind !== 'other' && kind !== 'share').map(({ source }) => source));
    const findings: Finding[] = [];
    let inspected = 0;
    let repairs = 0;
    for (const open of due) {
      if (related.isSettledByIndex(open)) {
        this.#remove(open.workflowId);
        continue;
      }
      if (inspected >= maxInspected) continue;
      inspected++;
      const mode = dryRun ? 'inspect' : repairs < maxRepairs ? 'repair' : 'wait';
      const finding = await this.#inspect(open, related, mode);
      if (finding === null) continue;
      findings.push(finding);
      if (finding.action !== 'none') repairs++;
    }
    return {
      scanned: scan.rows,
      inspected,
      findings,
      unreconciled: this.#open.unreconciled(),
      isComplete: scan.isComplete && inspected < maxInspected && (dryRun || repairs < maxRepairs),
    };
  }

  /** Scans everything again after the definitions have changed, because executions may have other follow-ups now. */
  #useDefinitions(mdmDefinitions: MdmDefinitions): void {
    if (mdmDefinitions === this.#mdmDefinitions) return;
    this.#mdmDefinitions = mdmDefinitions;
    this.#ended = this.#createScans();
    this.#open.makeAllDue(this.#now());
  }

  #createScans(): readonly EndedScan[] {
    const { api, withUpdates, lookBackMs } = this.#options;
    const from = this.#now() - lookBackMs;
    return [patchWorkflow, notifyWorkflow, shareWorkflow, ...(withUpdates ? [updateWorkflow] : [])].map(
      (workflowType) => new EndedScan(api, { workflowType, from }),
    );
  }

  async #scan(): Promise<{ rows: number; isComplete: boolean }> {
    const until = this.#now() - this.#options.afterMs;
    const scans = [() => this.#openScan.next(until, maxOpenPages)];
    for (const ended of this.#ended) {
      if (!this.#open.isFull) scans.push(() => ended.next(until, maxPages));
    }
    let rows = 0;
    let isComplete = scans.length === this.#ended.length + 1;
    for (const next of scans) {
      const scanned = await next();
      rows += scanned.rows.length;
      isComplete &&= scanned.isComplete;
      for (const summary of scanned.rows) {
        const kind = classify(summary, this.#mdmDefinitions);
        if (kind !== null) this.#open.add(summary, kind, this.#now());
      }
    }
    return { rows, isComplete };
  }

  async #inspect(open: OpenExecution, related: RelatedExecutions, mode: RepairMode): Promise<Finding | null> {
    const execution = await this.#options.api.readWhole(open.workflowId);
    if (execution === null) {
      this.#remove(open.workflowId);
      return null;
    }
    const decision = await this.#decide(execution, open, related);
    const now = this.#now();
    if (decision.kind === 'settled') this.#remove(open.workflowId);
    else if (decision.kind === 'waiting') this.#open.postpone(open.workflowId, now);
    else return this.#repair(execution, decision, mode);
    return null;
  }

  async #repair(
    execution: WholeExecution,
    decision: Exclude<Decision, { kind: 'settled' | 'waiting' }>,
    mode: RepairMode,
  ): Promise<Finding> {
    const executionId = execution.workflowId;
    const finding = { executionId, case: decision.case };
    this.#open.markMissing(executionId, decision.case);
    const none = (reason?: string): Finding => ({
      ...finding,
      action: 'none',
      started: [],
      ...(reason === undefined ? {} : { reason }),
    });
    if (decision.kind === 'asked') return none('a probe of its back end is running');
    if (decision.kind === 'undecided' || decision.kind === 'unanswered') {
      this.#open.postpone(executionId, this.#now());
      return none(decision.kind === 'undecided' ? decision.reason : 'its back end did not respond to the probe');
    }
    if (mode === 'inspect') {
      // Postponed, so that the next round of a dry run inspects other executions.
      this.#open.postpone(executionId, this.#now());
      return { ...none(), wouldBe: decision.kind };
    }
    if (mode === 'wait') return none();
    if (decision.kind === 'ask' && !this.#probeLimiter.tryAcquire(probeTargetFor(execution), this.#now())) {
      this.#open.retrySoon(executionId, this.#now());
      return none('its probe waits for other probes of the back end');
    }
    try {
      const done = await applyDecision(decision, execution, this.#options.api);
      if (decision.kind === 'start' || decision.kind === 'replace') this.#remove(executionId);
      if (decision.kind === 'resume') this.#open.markRepaired(executionId);
      return { ...finding, ...done };
    } catch (error) {
      this.#probeLimiter.release(executionId);
      if (!(error instanceof EngineError) || error.kind === 'unreachable') throw error;
      return none(error.message);
    }
  }

  #remove(executionId: string): void {
    this.#open.remove(executionId);
    this.#probeLimiter.release(executionId);
  }

  async #decide(execution: WholeExecution, open: OpenExecution, related: RelatedExecutions): Promise<Decision> {
    const { codec, afterMs } = this.#options;
    const context = { mdmDefinitions: this.#mdmDefinitions, codec, now: this.#now(), afterMs };
    try {
      switch (kindOf(execution, open.kind)) {
        case 'patch': {
          const notified = related.isNotified(open.source);
          const probes = notified ? [] : await related.readProbes(open.source);
          const probeState = probeStateOf(probes, codec);
          if (probeState !== undefined) this.#probeLimiter.update(probeTargetFor(execution), probeState, context.now);
          return decidePatch(execution, { notified, probes }, context);
        }
        case 'notification':
          return decideNotification(execution, await related.readShares(open.source), context);
        case 'update':
          return decideUpdate(execution, await related.readShares(open.source), context);
        case 'share':
          return decideShare(execution, context);
        case 'other':
          return decideOther(execution, context);
      }
    } catch (error) {
      if (error instanceof EngineError) throw error;
      if (error instanceof UnknownVersion) {
        return { kind: 'undecided', case: 'unknown_version', reason: error.message };
      }
      return {
        kind: 'undecided',
        case: 'outcome_unknown',
        reason: `the execution cannot be read: ${(error as Error).name}`,
      };
    }
  }
}

function probeTargetFor(execution: WholeExecution): ProbeTarget {
  return { backEnd: probedBackEnd(execution), executionId: execution.workflowId };
}

/** Corrects the kind of a request that is not a PATCH: the text of the index does not always show the method. */
function kindOf({ input }: WholeExecution, kind: ExecutionKind): ExecutionKind {
  const { httpMethod } = (input['inbound'] ?? {}) as { httpMethod?: unknown };
  return kind === 'patch' && httpMethod !== 'PATCH' ? 'other' : kind;
}
