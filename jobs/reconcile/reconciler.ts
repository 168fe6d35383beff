// Runs the reconcile loop of a router, with leader lock, metrics and log lines.

import { Counter, Gauge, type Registry } from 'prom-client';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { cases } from '#lib/conductor/executions/reconciler-terminations.ts';
import { startIntervalLoop } from '#lib/process/interval-loop.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { LeaderLock } from './leader-lock.ts';
import type { ReconcileFinding } from './inspection.ts';
import type { ReconcileRounds, RoundReport } from './reconcile-rounds.ts';

/** Dependencies and interval of the loop. */
export interface ReconcilerOptions {
  /** Creates rounds without state from earlier rounds: the first scan goes back to `lookBackMs` before the creation. */
  readonly createRounds: () => Pick<ReconcileRounds, 'run'>;
  readonly lookBackMs: number;
  readonly lock: LeaderLock;
  /** Time between the starts of two rounds, in milliseconds. */
  readonly intervalMs: number;
  readonly metrics: Registry;
  readonly log: Logger;
}

/** A running reconcile loop. */
export interface Reconciler {
  /** Stops the loop; resolves when the current round has ended and the lock is released. */
  stop(): Promise<void>;
}

/** Pause before the next round while there is more to do, in milliseconds. */
const backlogPauseMs = 1_000;

/** Number of consecutive failed rounds (about five minutes) after which the leader releases the lock. */
const maxFailedRounds = 10;

/**
 * Values of the `outcome` label. The series of each value starts at 0, because an alert cannot compare a series that
 * does not exist yet.
 */
const outcomes = ['done', 'failed', 'not_leader'] as const;

/** Starts the loop; the first round starts at once. */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const { createRounds, lookBackMs, lock, intervalMs, log } = options;
  const metrics = createMetrics(options.metrics);
  const roundLog = new RoundLog(log);
  let rounds: ReturnType<typeof createRounds> | undefined;
  let lastRoundAt = Number.NEGATIVE_INFINITY;
  let failedRounds = 0;
  const runRound = async (signal: AbortSignal): Promise<number | undefined> => {
    if (!(await lock.hold())) {
      // The prune job may by now have deleted executions that another router started; they would seem to be missing.
      if (Date.now() - lastRoundAt > lookBackMs) rounds = undefined;
      metrics.countRound('not_leader');
      metrics.setUnreconciled(new Map());
      return undefined;
    }
    rounds ??= createRounds();
    lastRoundAt = Date.now();
    roundLog.begin();
    const report = await rounds.run({
      onFinding(finding) {
        metrics.countFinding(finding);
        roundLog.report(finding);
      },
    });
    const { failure } = report;
    failedRounds = failure === undefined ? 0 : failedRounds + 1;
    // Another router may be able to reach the engine. The lock is not released at the first failure, because a new
    // leader does not know cases from before its look-back.
    if (failedRounds % maxFailedRounds === 0 && failure !== undefined) await lock.release();
    metrics.setUnreconciled(report.unreconciled);
    if (signal.aborted || (failure instanceof EngineError && failure.isStarting)) return undefined;
    metrics.countRound(failure === undefined ? 'done' : 'failed');
    roundLog.reportOutcome(report);
    return failure === undefined && !report.isComplete ? Math.min(intervalMs, backlogPauseMs) : undefined;
  };
  const loop = startIntervalLoop({ run: runRound, intervalMs });
  return {
    async stop() {
      await loop.stop();
      await lock.release();
    },
  };
}

/** Logs rounds. Log lines contain execution ids, cases and actions, but no payload data. */
class RoundLog {
  readonly #log: Logger;
  #failing = false;
  /** Keys of the findings in the previous round, so that the same finding is not logged in every round. */
  #reportedBefore = new Set<string>();
  #reported = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  begin(): void {
    this.#reportedBefore = this.#reported;
    this.#reported = new Set();
  }

  report(finding: ReconcileFinding): void {
    const key = keyOf(finding);
    this.#reported.add(key);
    if (finding.action === 'none' && this.#reportedBefore.has(key)) return;
    const { reason, ...fields } = finding;
    this.#log.warn({ ...fields, ...(reason === undefined ? {} : { reason }) }, 'reconcile finding');
  }

  reportOutcome({ failure, scanned, inspected, findings }: RoundReport): void {
    if (failure !== undefined && !this.#failing) this.#log.warn(errorFields(failure), 'cannot reconcile now');
    if (failure === undefined && this.#failing) this.#log.info('reconciling again');
    this.#failing = failure !== undefined;
    this.#log.debug({ scanned, inspected, findings: findings.length }, 'reconcile round');
  }
}

function keyOf({ executionId, action, reason = '' }: ReconcileFinding): string {
  return `${executionId} ${action} ${reason}`;
}

function createMetrics(registry: Registry) {
  const registers = [registry];
  const unreconciled = new Gauge({
    name: 'router_events_unreconciled',
    help: 'Executions, by case, that hang or lack a follow-up for MDM and have not been repaired yet; 0 is normal',
    labelNames: ['case'],
    registers,
  });
  const reconciled = new Counter({
    name: 'router_reconciled_total',
    help: 'Repairs by the reconciler, by case and action',
    labelNames: ['case', 'action'],
    registers,
  });
  const rounds = new Counter({
    name: 'router_reconciler_rounds_total',
    help: 'Rounds of the reconciler: done, failed, or not_leader when another router holds the lock',
    labelNames: ['outcome'],
    registers,
  });
  const setUnreconciled = (counts: RoundReport['unreconciled']) => {
    for (const each of cases) unreconciled.set({ case: each }, counts.get(each) ?? 0);
  };
  setUnreconciled(new Map());
  for (const outcome of outcomes) rounds.inc({ outcome }, 0);
  return {
    countRound: (outcome: (typeof outcomes)[number]) => rounds.inc({ outcome }),
    setUnreconciled,
    countFinding: (finding: ReconcileFinding) => {
      if (finding.action !== 'none') reconciled.inc({ case: finding.case, action: finding.action });
    },
  };
}
