// Finds and mends what the engine dropped between a successful PATCH and MDM, a bounded piece at a time.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { applyDecision } from './apply-decision.ts';
import { classify, type Kind } from './classify.ts';
import { decideNotification, decideShare, decideUpdate } from './decide-notification.ts';
import { decidePatch } from './decide-patch.ts';
import { type Case, type Decision, type DecisionContext, isEmpty, isOver, settled, waiting } from './decision.ts';
import {
  type MdmDefinitions,
  notifyWorkflow,
  patchWorkflow,
  UnknownVersion,
  updateWorkflow,
} from './mdm-definitions.ts';
import { OpenExecutions, type OpenExecution } from './open-executions.ts';
import { askedBackEnd, questionOf } from './probe.ts';
import { Relations } from './related-executions.ts';
import { EndedScan, RunningScan } from './scan.ts';
import { type Question, ProbeLimiter } from './probe-limiter.ts';

export interface ReconciliationOptions {
  readonly api: ExecutionApi;
  /** What should follow an execution; read at the start of each round. */
  readonly flows: MdmDefinitions;
  readonly codec: DecisionContext['codec'];
  /** MDM publishes updates to the broker's queues: they are looked after as well. */
  readonly withUpdates: boolean;
  /** How long the engine gets to do it by itself, in milliseconds. */
  readonly afterMs: number;
  /** How far back the first round begins, in milliseconds. */
  readonly lookBackMs: number;
  /** Milliseconds since 1970; default: the clock. */
  readonly now?: () => number;
}

/** What one execution came to in a round. */
export interface Finding {
  readonly executionId: string;
  readonly case: Case;
  readonly action: 'continued' | 'retried' | 'started' | 'terminated' | 'asked' | 'none';
  /** What a dry run has left undone. */
  readonly wouldBe?: Repair;
  /** Executions that were started for it. */
  readonly started: readonly string[];
  /** Why nothing was done, or why it failed. */
  readonly reason?: string;
}

/** A decision that changes something. */
export type Repair = 'resume' | 'start' | 'replace' | 'end' | 'ask';

export interface RoundReport {
  /** Rows of the index that were read. */
  readonly scanned: number;
  /** Executions that were read whole. */
  readonly inspected: number;
  readonly findings: readonly Finding[];
  /** Executions that still owe something, by case. */
  readonly unreconciled: ReadonlyMap<Case, number>;
  /** False: the next round goes on where this one stopped. */
  readonly isComplete: boolean;
}

/** `wait`: enough has been repaired in this round, and the next one goes on. */
type May = 'look' | 'repair' | 'wait';

/** Bounds of one round. */
const maxPages = 40;
const maxRunningPages = 5;
const maxInspected = 200;
const maxRepairs = 100;

/**
 * One look after the other at the engine's executions. What it has to remember is in memory and can be lost: a new
 * one begins `lookBackMs` ago.
 */
export class Reconciliation {
  readonly #options: ReconciliationOptions;
  readonly #now: () => number;
  readonly #open: OpenExecutions;
  #flows: MdmDefinitions;
  #ended: readonly EndedScan[];
  readonly #running: RunningScan;
  readonly #turns: ProbeLimiter;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#open = new OpenExecutions(options.afterMs);
    this.#turns = new ProbeLimiter(options.afterMs);
    this.#flows = options.flows;
    this.#ended = this.#lookBack();
    this.#running = new RunningScan(options.api);
  }

  /**
   * Looks once.
   * @param dryRun finds, and changes nothing
   * @throws EngineError when the engine is away; what was found is kept for the next round
   */
  async round({ dryRun = false } = {}): Promise<RoundReport> {
    this.#follow(this.#options.flows);
    const scan = await this.#scan();
    const due = this.#open.due(this.#now());
    const relations = new Relations(this.#options.api);
    await relations.load(due.filter(({ kind }) => kind !== 'other' && kind !== 'share').map(({ source }) => source));
    const findings: Finding[] = [];
    let inspected = 0;
    let repairs = 0;
    for (const open of due) {
      if (relations.showSettled(open)) {
        this.#settle(open.workflowId);
        continue;
      }
      if (inspected >= maxInspected) continue;
      inspected++;
      const may = dryRun ? 'look' : repairs < maxRepairs ? 'repair' : 'wait';
      const finding = await this.#lookAt(open, relations, may);
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

  /** By other definitions something else may be owed: whatever was judged by those before is judged again. */
  #follow(flows: MdmDefinitions): void {
    if (flows === this.#flows) return;
    this.#flows = flows;
    this.#ended = this.#lookBack();
    this.#open.wake(this.#now());
  }

  #lookBack(): readonly EndedScan[] {
    const { api, withUpdates, lookBackMs } = this.#options;
    const from = this.#now() - lookBackMs;
    return [patchWorkflow, notifyWorkflow, ...(withUpdates ? [updateWorkflow] : [])].map(
      (workflowType) => new EndedScan(api, { workflowType, from }),
    );
  }

  async #scan(): Promise<{ rows: number; isComplete: boolean }> {
    const until = this.#now() - this.#options.afterMs;
    const scans = [() => this.#running.next(until, maxRunningPages)];
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
        const kind = classify(summary, this.#flows);
        if (kind !== null) this.#open.add(summary, kind, this.#now());
      }
    }
    return { rows, isComplete };
  }

  async #lookAt(open: OpenExecution, relations: Relations, may: May): Promise<Finding | null> {
    const execution = await this.#options.api.readWhole(open.workflowId);
    if (execution === null) {
      this.#settle(open.workflowId);
      return null;
    }
    const decision = await this.#decide(execution, open, relations);
    const now = this.#now();
    if (decision.kind === 'settled') this.#settle(open.workflowId);
    else if (decision.kind === 'waiting') this.#open.postpone(open.workflowId, now);
    else return this.#mend(execution, decision, may);
    return null;
  }

  async #mend(
    execution: WholeExecution,
    decision: Exclude<Decision, { kind: 'settled' | 'waiting' }>,
    may: May,
  ): Promise<Finding> {
    const executionId = execution.workflowId;
    const finding = { executionId, case: decision.case };
    this.#open.owes(executionId, decision.case);
    const none = (reason?: string): Finding => ({
      ...finding,
      action: 'none',
      started: [],
      ...(reason === undefined ? {} : { reason }),
    });
    if (decision.kind === 'asked') return none('its back end has been asked');
    if (decision.kind === 'undecided' || decision.kind === 'unanswered') {
      this.#open.postpone(executionId, this.#now());
      return none(decision.kind === 'undecided' ? decision.reason : 'its back end did not answer');
    }
    if (may === 'look') {
      // The next round of a dry run looks at the others.
      this.#open.postpone(executionId, this.#now());
      return { ...none(), wouldBe: decision.kind };
    }
    if (may === 'wait') return none();
    if (decision.kind === 'ask' && !this.#turns.take(questionFor(execution), this.#now())) {
      this.#open.defer(executionId, this.#now());
      return none('its back end is asked for others first');
    }
    try {
      const done = await applyDecision(decision, execution, this.#options.api);
      if (decision.kind === 'start' || decision.kind === 'replace') this.#settle(executionId);
      if (decision.kind === 'resume') this.#open.isMended(executionId);
      return { ...finding, ...done };
    } catch (error) {
      this.#turns.leave(executionId);
      if (!(error instanceof EngineError) || error.kind === 'unreachable') throw error;
      return none(error.message);
    }
  }

  #settle(executionId: string): void {
    this.#open.settle(executionId);
    this.#turns.leave(executionId);
  }

  async #decide(execution: WholeExecution, open: OpenExecution, relations: Relations): Promise<Decision> {
    const { codec, afterMs } = this.#options;
    const context = { flows: this.#flows, codec, now: this.#now(), afterMs };
    try {
      switch (kindOf(execution, open.kind)) {
        case 'patch': {
          const notified = relations.isNotified(open.source);
          const probes = notified ? [] : await relations.readProbes(open.source);
          const question = questionOf(probes, codec);
          if (question !== undefined) this.#turns.note(questionFor(execution), question, context.now);
          return decidePatch(execution, { notified, probes }, context);
        }
        case 'notification':
          return decideNotification(execution, await relations.readShares(open.source), context);
        case 'update':
          return decideUpdate(execution, await relations.readShares(open.source), context);
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
      return { kind: 'undecided', case: 'outcome_unknown', reason: `it cannot be read: ${(error as Error).name}` };
    }
  }
}

function questionFor(execution: WholeExecution): Question {
  return { backEnd: askedBackEnd(execution), executionId: execution.workflowId };
}

/** The index does not always tell whether it is a PATCH. */
function kindOf({ input }: WholeExecution, kind: Kind): Kind {
  const { httpMethod } = (input['inbound'] ?? {}) as { httpMethod?: unknown };
  return kind === 'patch' && httpMethod !== 'PATCH' ? 'other' : kind;
}

/** Any other workflow: one that was started and never given a task runs for ever, and nobody waits for it. */
function decideOther(execution: WholeExecution, context: DecisionContext): Decision {
  if (execution.status !== 'RUNNING') return settled;
  if (!isEmpty(execution) || !isOver(execution.startTime, context)) return waiting;
  return { kind: 'replace', case: 'never_scheduled', requests: [] };
}
