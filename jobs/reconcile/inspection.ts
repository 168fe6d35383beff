// Inspects one execution at a time: reads it, decides what is missing, and repairs it.

import { setTimeout as pause } from 'node:timers/promises';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded, openStatuses } from '#lib/conductor/executions/has-ended.ts';
import type { Case } from '#lib/conductor/executions/reconciler-terminations.ts';
import { type AppliedDecision, applyDecision } from './apply-decision.ts';
import type { ExecutionKind } from './classify.ts';
import { decideNotification, decideShare } from './decide-notification.ts';
import { decideOther } from './decide-other.ts';
import { decidePatch } from './decide-patch.ts';
import { type Decision, type DecisionContext, tasksInProgress } from './decision.ts';
import type { EventBacklog } from './event-backlog.ts';
import { UnknownVersion } from './mdm-definitions.ts';
import type { OpenExecution, OpenExecutions } from './open-executions.ts';
import { probedBackEnd, probeStateOf } from './probe.ts';
import { isStartedElsewhere, type StartContext } from './same-work.ts';
import type { ProbeLimiter, ProbeTarget } from './probe-limiter.ts';
import type { RelatedExecutions } from './related-executions.ts';

/** One execution with a missing follow-up, and what a round did about it. */
export interface ReconcileFinding {
  readonly executionId: string;
  readonly case: Case;
  readonly action: AppliedDecision['action'];
  /** The repair that a dry run did not apply. */
  readonly wouldBe?: Repair;
  /** Ids of the executions that were started. */
  readonly started: readonly string[];
  /** Why nothing was done or the repair failed. */
  readonly reason?: string;
}

/** Kinds of decisions that change something in the engine. */
export type Repair = 'resume' | 'start' | 'replace' | 'end' | 'ask';

/** Dependencies and context of the inspections. */
export interface InspectionOptions {
  readonly api: ExecutionApi;
  readonly open: OpenExecutions;
  readonly probeLimiter: ProbeLimiter;
  readonly backlog: EventBacklog;
  readonly now: () => number;
  /** See `ReconcileRoundsOptions`. */
  readonly monotonicNow: () => number;
  /** When true, repairs are reported and not applied. */
  readonly dryRun: boolean;
  readonly context: Omit<DecisionContext, 'now' | 'unchangedMs'>;
  readonly onFinding: (finding: ReconcileFinding) => void;
}

/** Pauses between status reads of a started probe, in milliseconds: a worker takes the probe within about a second. */
const probePausesMs = [100, 200, 400, 400, 400, 500, 500, 500];

/** The inspections of one round. */
export class Inspection {
  readonly #options: InspectionOptions;

  constructor(options: InspectionOptions) {
    this.#options = options;
  }

  /** Returns false while the execution waits for a permit to probe its back end and none is free. */
  mayStart({ waitsFor }: OpenExecution): boolean {
    const { probeLimiter, now } = this.#options;
    return waitsFor === undefined || probeLimiter.mayAcquire(waitsFor, now());
  }

  /**
   * Inspects an execution and repairs it. A probe that ends within a few seconds is evaluated at once.
   * @returns true when the execution waits for a permit to probe its back end, see {@link mayStart}
   * @throws EngineError when the engine is unavailable
   */
  async inspect(open: OpenExecution, related: RelatedExecutions): Promise<boolean> {
    const { onFinding } = this.#options;
    const finding = await this.#inspectOnce(open, related);
    if (finding === null) return false;
    onFinding(finding);
    const [probe] = finding.started;
    if (finding.action !== 'asked' || probe === undefined) return open.waitsFor !== undefined;
    if (!(await this.#hasEnded(probe))) return false;
    await related.load([open.source]);
    const conclusion = await this.#inspectOnce(open, related);
    if (conclusion !== null) onFinding(conclusion);
    return false;
  }

  async #hasEnded(executionId: string): Promise<boolean> {
    for (const ms of probePausesMs) {
      const status = await this.#options.api.readState(executionId);
      if (status === null || !openStatuses.includes(status)) return status !== null;
      await pause(ms);
    }
    return false;
  }

  async #inspectOnce(open: OpenExecution, related: RelatedExecutions): Promise<ReconcileFinding | null> {
    const { api, open: list, now, backlog } = this.#options;
    const { workflowId } = open;
    const execution = await api.readWhole(workflowId);
    if (execution === null) return this.#remove(workflowId);
    const decision = await this.#decide(execution, open, related);
    if (decision.kind === 'settled') return this.#remove(workflowId);
    if (decision.kind === 'waiting') list.postpone(workflowId, now());
    else if (isEventLost(decision) && backlog.mayContain(execution.endTime, now())) list.retrySoon(workflowId, now());
    else if (await this.#isReplaced(execution, decision)) return this.#remove(workflowId);
    else return this.#repair(execution, decision);
    return null;
  }

  /** Returns true for an ended execution whose work is done by another execution. */
  async #isReplaced(execution: WholeExecution, decision: Decision): Promise<boolean> {
    if (decision.kind !== 'resume' || !hasEnded(execution)) return false;
    return isStartedElsewhere(decision.fallback, execution, this.#startContext());
  }

  #startContext(): StartContext {
    const { api, now, context } = this.#options;
    return { api, now: now(), afterMs: context.afterMs };
  }

  async #repair(
    execution: WholeExecution,
    decision: Exclude<Decision, { kind: 'settled' | 'waiting' }>,
  ): Promise<ReconcileFinding | null> {
    const { open, now, probeLimiter, dryRun } = this.#options;
    const executionId = execution.workflowId;
    const finding = { executionId, case: decision.case };
    open.markMissing(executionId, decision.case);
    // Clears the mark of an earlier round. If another router has started the probe, this execution no longer waits for
    // a permit: #decide has already counted the running probe towards the limit.
    open.markWaitingFor(executionId, undefined);
    const none = (reason?: string): ReconcileFinding => ({
      ...finding,
      action: 'none',
      started: [],
      ...(reason === undefined ? {} : { reason }),
    });
    if (decision.kind === 'asked') return none('a probe of its back end is running');
    if (decision.kind === 'undecided' || decision.kind === 'unanswered') {
      open.postpone(executionId, now());
      return none(decision.kind === 'undecided' ? decision.reason : 'its back end did not respond to the probe');
    }
    if (dryRun) {
      // Postponed, so that the next round of a dry run inspects other executions.
      open.postpone(executionId, now());
      return { ...none(), wouldBe: decision.kind };
    }
    if (decision.kind === 'ask') {
      const target = probeTargetFor(execution);
      if (probeLimiter.isProbing(target, now())) {
        open.postpone(executionId, now());
        return none('its probe is not in the index yet');
      }
      const isAcquired = probeLimiter.tryAcquire(target, now());
      if (!isAcquired) {
        open.markWaitingFor(executionId, target);
        return none('its probe waits for other probes of the back end');
      }
    }
    try {
      const { blocked, ...done } = await applyDecision(decision, execution, this.#startContext());
      if (blocked !== undefined) {
        open.postpone(executionId, now());
        return { ...finding, ...done, reason: blocked };
      }
      if (decision.kind === 'start' || decision.kind === 'replace') this.#remove(executionId);
      if (decision.kind === 'resume') open.markRepaired(executionId);
      return done.action === 'none' ? null : { ...finding, ...done };
    } catch (error) {
      probeLimiter.release(executionId);
      if (!(error instanceof EngineError) || error.kind === 'unreachable') throw error;
      // Postponed, so that the rounds of a run do not try this repair again before they reach the other executions.
      open.postpone(executionId, now());
      return none(error.message);
    }
  }

  #remove(executionId: string): null {
    this.#options.open.remove(executionId, this.#options.now());
    this.#options.probeLimiter.release(executionId);
    return null;
  }

  async #decide(execution: WholeExecution, open: OpenExecution, related: RelatedExecutions): Promise<Decision> {
    const { open: list, probeLimiter, now, monotonicNow } = this.#options;
    const unchangedMs = list.recordInProgress(execution.workflowId, tasksInProgress(execution), monotonicNow());
    const context = { ...this.#options.context, now: now(), unchangedMs };
    try {
      switch (kindOf(execution, open.kind)) {
        case 'patch': {
          const notified = related.isNotified(open.source);
          const probes = notified ? [] : await related.readProbes(open.source);
          const probeState = probeStateOf(probes, context.codec);
          if (probeState !== undefined) probeLimiter.update(probeTargetFor(execution), probeState, context.now);
          return decidePatch(execution, { notified, probes }, context);
        }
        case 'notification': {
          const shares = await related.readShares(open.source);
          return decideNotification(execution, shares, context);
        }
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

function isEventLost(decision: Decision): boolean {
  return decision.kind === 'start' && decision.case === 'event_lost';
}

function probeTargetFor(execution: WholeExecution): ProbeTarget {
  const [domain] = Object.values(execution.taskToDomain ?? {});
  return { backEnd: probedBackEnd(execution), domain, executionId: execution.workflowId };
}

/** Corrects the kind of a request that is not a PATCH: the text of the index does not always show the method. */
function kindOf({ input }: WholeExecution, kind: ExecutionKind): ExecutionKind {
  const { httpMethod } = (input['inbound'] ?? {}) as { httpMethod?: unknown };
  return kind === 'patch' && httpMethod !== 'PATCH' ? 'other' : kind;
}
