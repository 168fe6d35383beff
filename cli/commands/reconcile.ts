// The command `reconcile`: finds missing follow-up executions of PATCHes, asks for confirmation, and repairs them.

import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import { generalRulesOf, problemsOf } from '../../jobs/prune/rules.ts';
import { createReconcileRounds } from '../../jobs/reconcile/index.ts';
import { runUntilComplete, type RoundsSummary } from '../../jobs/reconcile/run-until-complete.ts';
import type { ReconcileFinding, Repair } from '../../jobs/reconcile/inspection.ts';
import { paint } from '../output/colours.ts';
import { addConfirmationOptions } from '../confirmation.ts';
import { addEngineOptions, type EngineAccessOptions, openEngine } from '../engine/engine-access.ts';
import { parseDuration } from '../input/duration.ts';
import { type Outcome, CommandError, linesOf } from '../outcome.ts';
import { folderOf } from '../gateway/gateway-folder.ts';
import { countOf, formatTable } from '../output/table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `reconcile`: engine, time range and confirmation. */
export interface ReconcileOptions extends EngineAccessOptions {
  readonly lookBack?: string;
  readonly after?: string;
  readonly yes?: boolean;
}

/** The command `reconcile`: runs reconcile rounds until the whole look-back is inspected. */
export const reconcileCommand: CommandDefinition<ReconcileOptions> = {
  name: 'reconcile',
  description:
    'Find PATCHes whose follow-up executions are missing, ask for confirmation, and repair them. Without a terminal it only shows them, unless `--yes` is given. It does not end executions whose worker stopped reporting: only a router that reconciles continuously does.',
  exitCodes: {
    0: 'nothing is missing, or everything that was missing was repaired',
    1: 'error: the engine is unreachable, or the confirmation was declined; what was repaired before an error is listed',
    2: 'something is still missing',
  },
  examples: [
    { command: 'reconcile --dry-run', does: 'show what is missing' },
    { command: 'reconcile', does: 'show the findings and ask' },
    { command: 'reconcile --yes', does: 'repair without asking; safe to run twice, and while routers reconcile' },
    { command: 'reconcile --look-back 7d', does: 'look further back than reconciler.lookBackSeconds' },
  ],
  addOptions: (command) =>
    addConfirmationOptions(addEngineOptions(command))
      .option(
        '--look-back <duration>',
        'how far back, such as 7d; must be less than the time for which executions are kept (default: reconciler.lookBackSeconds)',
      )
      .option(
        '--after <duration>',
        'time allowed for the engine to start follow-ups by itself, such as 30s (default: reconciler.afterMs)',
      ),
  run: runReconcile,
};

const routerForwardsNoRepair =
  'nothing was changed: the router does not forward repairs; call the engine directly with --engine <url>';

/**
 * Runs reconcile rounds until everything is inspected. The error of a round is part of the outcome.
 * @throws ConfigError, EngineError or CommandError
 */
async function runReconcile(options: ReconcileOptions, context: CommandContext): Promise<Outcome> {
  const engine = await openEngine(options, context.host);
  const { address } = engine;
  try {
    requireKept(engine.config, options);
    const config = withTimes(engine.config, options);
    const definitions = forColleges(loadDefinitions(folderOf(options)), config);
    const sources = {
      ...{ config, definitions: () => definitions, api: engine.executions },
      readQueueSizes: () => engine.api.readQueueSizes(),
    };
    const reconcileOnce = (dryRun: boolean) => runUntilComplete(createReconcileRounds(sources), { dryRun });
    const note = context.onlyShows ?? (options.router === undefined ? undefined : routerForwardsNoRepair);
    if (note === routerForwardsNoRepair && options.yes === true) throw new CommandError([note]);
    if (note !== undefined) return describe(await reconcileOnce(true), { address, note });
    if (options.yes !== true) {
      const found = await reconcileOnce(true);
      if (found.failure !== undefined || found.findings.length === 0) return describe(found, { address });
      context.show(describeFindings(found));
      await context.confirm(`Repair ${countOf(found.findings.length, 'execution')} at ${address}?`);
    }
    return describe(await reconcileOnce(false), { address });
  } finally {
    await engine.close();
  }
}

/**
 * Checks that follow-up executions within the look-back cannot have been pruned. No route starts follow-up executions,
 * so the general prune rules apply to them.
 * @throws CommandError
 */
function requireKept(config: Config, { lookBack }: ReconcileOptions): void {
  if (lookBack === undefined) return;
  const rules = generalRulesOf(config);
  if (problemsOf(rules, withTimes(config, { lookBack })).length === 0) return;
  const days = Math.min(...rules.map(({ olderThanMs }) => olderThanMs)) / 86_400_000;
  throw new CommandError([
    `--look-back ${lookBack}: must be shorter than the ${days} d for which the follow-up executions of PATCHes are kept (prune.completedDays, prune.failedDays); otherwise, MDM would be notified again of PATCHes whose follow-up executions were pruned`,
  ]);
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
  start: 'start the missing follow-up executions',
  replace: 'start its replacement, then terminate the original',
  end: 'terminate it, then probe its back end',
  ask: 'probe its back end to find out whether the PATCH was applied',
};

/** @param note why nothing was changed, for a dry run */
function describe(report: RoundsSummary, { address, note }: { address: string; note?: string }): Outcome {
  const { findings, scanned, inspected, isComplete, failure } = report;
  const open = findings.filter((finding) => !isRepaired(finding)).length;
  const counts = note === undefined ? `, ${findings.length - open} repaired` : '';
  const isDone = open === 0 && isComplete;
  const json = {
    ...{ ok: isDone, engine: address, dryRun: note !== undefined, findings },
    ...{ unreconciled: Object.fromEntries(report.unreconciled), scanned, inspected, isComplete },
  };
  if (failure !== undefined) {
    const problems = linesOf(failure);
    return { exitCode: 1, lines: [...describeFindings(report), ...problems], json: { ...json, problems } };
  }
  return {
    exitCode: isDone ? 0 : 2,
    lines: [
      ...describeFindings(report),
      `${address}: ${countOf(findings.length, 'execution')} found${counts}; ${scanned} index rows scanned, ${countOf(inspected, 'execution')} inspected in full`,
      ...(isComplete ? [] : ['there is more: run `reconcile` again']),
      ...(note === undefined || isDone ? [] : [note]),
    ],
    json,
  };
}

function describeFindings({ findings }: RoundsSummary): string[] {
  if (findings.length === 0) return [];
  const column = findings.some(({ wouldBe: repair }) => repair !== undefined) ? 'would be done' : 'done';
  return [...formatTable(['execution', 'case', column, 'started'], findings.map(toRow)), ''];
}

/**
 * Returns true when the execution continued or was retried, or its missing follow-up was started; false when nothing
 * was done, or while the result of a PATCH is unknown.
 */
function isRepaired({ action, started }: ReconcileFinding): boolean {
  return ['continued', 'retried', 'started'].includes(action) || (action === 'terminated' && started.length > 0);
}

function toRow({ executionId, case: kind, action, wouldBe: repair, started, reason }: ReconcileFinding): string[] {
  const done =
    repair !== undefined
      ? wouldBe[repair]
      : action === 'none'
        ? paint('warning', reason ?? 'nothing yet')
        : paint('good', action === 'asked' ? 'probe started' : action);
  return [executionId, kind, done, started.join(' ') || '-'];
}
