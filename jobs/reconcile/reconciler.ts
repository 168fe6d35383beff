// The reconcile loop of a router, with leader lock, metrics and log lines.

import { Counter, Gauge, type Registry } from 'prom-client';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { startIntervalLoop } from '#lib/process/interval-loop.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { LeaderLock } from './leader-lock.ts';
import type { Finding, ReconcileRounds, RoundReport } from './reconcile-rounds.ts';
import { cases } from './decision.ts';

/** Dependencies and interval of the loop. */
export interface ReconcilerOptions {
  readonly rounds: Pick<ReconcileRounds, 'run'>;
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

/** Starts the loop; the first round starts at once. */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const { rounds, lock, intervalMs, log } = options;
  const metrics = createMetrics(options.metrics);
  const roundLog = new RoundLog(log);
  const runRound = async (signal: AbortSignal): Promise<void> => {
    if (!(await lock.hold())) {
      metrics.countRound('not_leader');
      metrics.setUnreconciled(new Map());
      return;
    }
    try {
      const report = await rounds.run();
      metrics.countRound('done');
      metrics.record(report);
      roundLog.succeeded(report);
    } catch (error) {
      if (signal.aborted || (error instanceof EngineError && error.isStarting)) return;
      metrics.countRound('failed');
      roundLog.failed(error);
    }
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
  /** What was said of an execution, so that it is not said in each round. */
  #reported = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  succeeded({ findings, scanned, inspected }: RoundReport): void {
    if (this.#failing) this.#log.info('reconciling again');
    this.#failing = false;
    const reported = new Set<string>();
    for (const finding of findings) {
      const key = keyOf(finding);
      reported.add(key);
      if (finding.action === 'none' && this.#reported.has(key)) continue;
      const { reason, ...fields } = finding;
      this.#log.warn({ ...fields, ...(reason === undefined ? {} : { reason }) }, 'reconciled');
    }
    this.#reported = reported;
    this.#log.debug({ scanned, inspected, findings: findings.length }, 'reconcile round');
  }

  failed(error: unknown): void {
    if (!this.#failing) this.#log.warn(errorFields(error), 'cannot reconcile now');
    this.#failing = true;
  }
}

function keyOf({ executionId, action, reason = '' }: Finding): string {
  return `${executionId} ${action} ${reason}`;
}

function createMetrics(registry: Registry) {
  const registers = [registry];
  const unreconciled = new Gauge({
    name: 'router_events_unreconciled',
    help: 'Executions with a missing MDM follow-up that is not repaired yet, by case; 0 is normal',
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
  return {
    countRound: (outcome: 'done' | 'failed' | 'not_leader') => rounds.inc({ outcome }),
    setUnreconciled,
    record({ findings, unreconciled: counts }: RoundReport) {
      setUnreconciled(counts);
      for (const finding of findings) {
        if (finding.action !== 'none') reconciled.inc({ case: finding.case, action: finding.action });
      }
    },
  };
}
