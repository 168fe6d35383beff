// Runs reconcile rounds until the whole look-back has been scanned and inspected, for the CLI.

import type { Case } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { ReconcileFinding } from './inspection.ts';
import type { ReconcileRounds, RoundReport } from './reconcile-rounds.ts';

/** Combined result of the rounds. */
export interface RoundsSummary {
  /** The last action for each execution that had or has a missing follow-up. */
  readonly findings: readonly ReconcileFinding[];
  /** Number of executions with a missing follow-up, by case. */
  readonly unreconciled: ReadonlyMap<Case, number>;
  /** Index rows that were read. */
  readonly scanned: number;
  /** Executions that were read in full. */
  readonly inspected: number;
  /** False when the maximum number of rounds was reached or a round failed. */
  readonly isComplete: boolean;
  /** The error that ended the last round. The findings include what was done before the error. */
  readonly failure?: unknown;
}

/**
 * Maximum number of rounds. A look-back with many thousands of executions takes only a few rounds; more would be a
 * defect.
 */
const maxRounds = 200;

/**
 * Inspects every due execution once. The effects of repairs are verified in a later run. Never rejects.
 * @param dryRun when true, reports findings without repairing them
 * @param onRound called after each round
 */
export async function runUntilComplete(
  rounds: Pick<ReconcileRounds, 'run'>,
  { dryRun, onRound = () => undefined }: { dryRun: boolean; onRound?: (report: RoundReport) => void },
): Promise<RoundsSummary> {
  const findings = new Map<string, ReconcileFinding>();
  let scanned = 0;
  let inspected = 0;
  for (let count = 1; ; count++) {
    const report = await rounds.run({ dryRun });
    scanned += report.scanned;
    inspected += report.inspected;
    for (const finding of report.findings) {
      const known = findings.get(finding.executionId);
      // A later finding without an action does not replace a repair.
      if (known === undefined || finding.action !== 'none') findings.set(finding.executionId, finding);
    }
    onRound(report);
    const { unreconciled, isComplete, failure } = report;
    if (isComplete || failure !== undefined || count === maxRounds) {
      return { findings: [...findings.values()], unreconciled, scanned, inspected, isComplete, failure };
    }
  }
}
