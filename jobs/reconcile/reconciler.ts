// Runs the reconciliation again and again beside a router: its turn, its metrics, its log lines.

import { Counter, Gauge, type Registry } from 'prom-client';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { LeaderLock } from './leader-lock.ts';
import type { Finding, Reconciliation, RoundReport } from './reconciliation.ts';
import { cases } from './decision.ts';

export interface ReconcilerOptions {
  readonly reconciliation: Pick<Reconciliation, 'round'>;
  readonly lock: LeaderLock;
  /** Pause between two rounds, in milliseconds. */
  readonly intervalMs: number;
  readonly metrics: Registry;
  readonly log: Logger;
}

/** A running reconciler. */
export interface Reconciler {
  /** No round begins any more; resolves when the one that runs has ended and the lock is free. */
  stop(): Promise<void>;
}

/** Starts it; the first round begins at once. */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const { reconciliation, lock, intervalMs, log } = options;
  const meters = createMeters(options.metrics);
  const rounds = new Rounds(log);
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const runOne = async (): Promise<void> => {
    if (!(await lock.hold())) {
      meters.countRound('not_leader');
      meters.noteOwed(new Map());
      return;
    }
    try {
      const report = await reconciliation.round();
      meters.countRound('done');
      meters.note(report);
      rounds.succeeded(report);
    } catch (error) {
      if (stopped || (error instanceof EngineError && error.isStarting)) return;
      meters.countRound('failed');
      rounds.failed(error);
    }
  };
  const runForEver = async (): Promise<void> => {
    const startedAt = performance.now();
    await runOne();
    if (stopped) return;
    timer = setTimeout(() => (running = runForEver()), Math.max(0, intervalMs - (performance.now() - startedAt)));
  };
  let running = runForEver();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
      await lock.release();
    },
  };
}

/** Log lines name executions, cases and actions; nothing of what they carry. */
class Rounds {
  readonly #log: Logger;
  #failing = false;
  /** What was said of an execution, so that it is not said in each round. */
  #said = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  succeeded({ findings, scanned, inspected }: RoundReport): void {
    if (this.#failing) this.#log.info('reconciling again');
    this.#failing = false;
    const said = new Set<string>();
    for (const finding of findings) {
      const line = lineOf(finding);
      said.add(line);
      if (finding.action === 'none' && this.#said.has(line)) continue;
      const { reason, ...fields } = finding;
      this.#log.warn({ ...fields, ...(reason === undefined ? {} : { reason }) }, 'reconciled');
    }
    this.#said = said;
    this.#log.debug({ scanned, inspected, findings: findings.length }, 'reconciliation round');
  }

  failed(error: unknown): void {
    if (!this.#failing) this.#log.warn(errorFields(error), 'cannot reconcile now');
    this.#failing = true;
  }
}

function lineOf({ executionId, action, reason = '' }: Finding): string {
  return `${executionId} ${action} ${reason}`;
}

function createMeters(metrics: Registry) {
  const registers = [metrics];
  const unreconciled = new Gauge({
    name: 'router_events_unreconciled',
    help: 'Executions that owe MDM something and are not mended yet, by case; 0 is normal',
    labelNames: ['case'],
    registers,
  });
  const reconciled = new Counter({
    name: 'router_reconciled_total',
    help: 'What the reconciler did, by case and action',
    labelNames: ['case', 'action'],
    registers,
  });
  const rounds = new Counter({
    name: 'router_reconciler_rounds_total',
    help: 'Rounds of the reconciler: done, failed, or another router had its turn',
    labelNames: ['outcome'],
    registers,
  });
  const noteOwed = (owed: RoundReport['unreconciled']) => {
    for (const each of cases) unreconciled.set({ case: each }, owed.get(each) ?? 0);
  };
  noteOwed(new Map());
  return {
    countRound: (outcome: 'done' | 'failed' | 'not_leader') => rounds.inc({ outcome }),
    noteOwed,
    note({ findings, unreconciled: owed }: RoundReport) {
      noteOwed(owed);
      for (const finding of findings) {
        if (finding.action !== 'none') reconciled.inc({ case: finding.case, action: finding.action });
      }
    },
  };
}
