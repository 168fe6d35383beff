// One pass over everything, for a command: rounds until the whole look-back has been read and looked at.

import type { Case } from './decision.ts';
import type { Finding, Reconciliation, RoundReport } from './reconciliation.ts';

export interface RoundSummary {
  /** One for each execution that owes something, or did: what was done last. */
  readonly findings: readonly Finding[];
  /** What is owed still, by case. */
  readonly unreconciled: ReadonlyMap<Case, number>;
  readonly scanned: number;
  readonly inspected: number;
  /** False: it was given up after so many rounds. */
  readonly isComplete: boolean;
}

/** A pass over a look-back of many thousand executions takes a few rounds; this many would be a fault. */
const maxRounds = 200;

/**
 * Looks once at everything that is due. What a repair leads to is seen in a later pass.
 * @param dryRun finds, and changes nothing
 * @param onRound called after each round
 * @throws EngineError when the engine is away
 */
export async function runRound(
  reconciliation: Pick<Reconciliation, 'round'>,
  { dryRun, onRound = () => undefined }: { dryRun: boolean; onRound?: (report: RoundReport) => void },
): Promise<RoundSummary> {
  const findings = new Map<string, Finding>();
  let scanned = 0;
  let inspected = 0;
  for (let rounds = 1; ; rounds++) {
    const report = await reconciliation.round({ dryRun });
    scanned += report.scanned;
    inspected += report.inspected;
    for (const finding of report.findings) {
      const known = findings.get(finding.executionId);
      // A repair is not forgotten for a later look that had nothing to do.
      if (known === undefined || finding.action !== 'none') findings.set(finding.executionId, finding);
    }
    onRound(report);
    if (report.isComplete || rounds === maxRounds) {
      const { unreconciled, isComplete } = report;
      return { findings: [...findings.values()], unreconciled, scanned, inspected, isComplete };
    }
  }
}
