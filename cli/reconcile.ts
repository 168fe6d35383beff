// `reconcile`: what the engine dropped between a PATCH and MDM, found and, with --yes, mended.

import type { Config } from '../config/schema.ts';
import { createReconciliation } from '../reconciler/index.ts';
import { pass, type PassReport } from '../reconciler/pass.ts';
import type { Finding, Repair } from '../reconciler/reconciliation.ts';
import { paint } from './colours.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from './engine-access.ts';
import { parseDuration } from './input/duration.ts';
import { type Outcome, VerbError } from './outcome.ts';
import { countOf, formatTable } from './table.ts';
import type { Verb, VerbContext } from './verb.ts';

export interface ReconcileOptions extends EngineAccessOptions {
  readonly lookBack?: string;
  readonly after?: string;
  readonly yes?: boolean;
}

export const reconcileVerb: Verb<ReconcileOptions> = {
  name: 'reconcile',
  description:
    'Find what should have followed a PATCH and did not, and mend it as the routers do. Without --yes, only show it.',
  exitCodes: {
    0: 'nothing is owed',
    1: 'error: the engine is out of reach',
    2: 'something is owed, or was mended',
  },
  examples: [
    { command: 'reconcile', does: 'what is owed now' },
    { command: 'reconcile --yes', does: 'mend it; doing it twice, or beside the routers, does no harm' },
    { command: 'reconcile --look-back 7d', does: 'look further back than reconciler.lookBackSeconds' },
  ],
  addOptions: (command) =>
    addEngineOptions(command)
      .option('--look-back <span>', 'how far back, such as 7d (default: reconciler.lookBackSeconds)')
      .option('--after <span>', 'how long the engine gets to do it by itself (default: reconciler.afterMs)')
      .option('-y, --yes', 'mend what is found'),
  run: runReconcile,
};

export async function runReconcile(options: ReconcileOptions, { host }: Pick<VerbContext, 'host'>): Promise<Outcome> {
  const engine = await openEngine(options, host);
  const dryRun = options.yes !== true;
  try {
    const config = withTimes(engine.config, options);
    if (options.router !== undefined && !dryRun) {
      throw new VerbError(['the router lets nobody mend: go to the engine itself with --engine <url>']);
    }
    const report = await pass(createReconciliation(config, engine.call), { dryRun });
    return describe(report, { dryRun, address: engine.address });
  } finally {
    await engine.close();
  }
}

function withTimes(config: Config, { lookBack, after }: ReconcileOptions): Config {
  return {
    ...config,
    ...(lookBack === undefined ? {} : { 'reconciler.lookBackSeconds': parseDuration(lookBack, '--look-back') / 1_000 }),
    ...(after === undefined ? {} : { 'reconciler.afterMs': parseDuration(after, '--after') }),
  };
}

const wouldBe: Readonly<Record<Repair, string>> = {
  resume: 'retry it, so that the engine publishes its event',
  start: 'start what should have followed',
  replace: 'start it anew and terminate it',
  end: 'terminate it, then ask its back end',
  ask: 'ask its back end what became of it',
};

function describe(report: PassReport, { dryRun, address }: { dryRun: boolean; address: string }): Outcome {
  const { findings, scanned, inspected, isComplete } = report;
  const unreconciled = Object.fromEntries(report.unreconciled);
  const isOwed = findings.length > 0;
  const table = formatTable(['execution', 'case', dryRun ? 'would be done' : 'done', 'started'], findings.map(toRow));
  const lines = [
    ...(isOwed ? [...table, ''] : []),
    `${address}: ${countOf(findings.length, 'execution')} ${dryRun ? 'found' : 'found and looked after'}; ${scanned} rows of the index read, ${countOf(inspected, 'execution')} read whole`,
    ...(isComplete ? [] : ['there is more: run it again']),
    ...(isOwed
      ? [dryRun ? 'nothing was changed; --yes mends' : 'run it again: a repair shows its effect in the next look']
      : []),
  ];
  const json = { ok: !isOwed, engine: address, dryRun, findings, unreconciled, scanned, inspected, isComplete };
  return { exitCode: isOwed ? 2 : 0, lines, json };
}

function toRow({ executionId, case: owed, action, wouldBe: repair, started, reason }: Finding): string[] {
  const done =
    repair !== undefined
      ? wouldBe[repair]
      : action === 'none'
        ? paint('warning', reason ?? 'nothing yet')
        : paint('good', action);
  return [executionId, owed, done, started.join(' ') || '-'];
}
