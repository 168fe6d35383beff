// The command `prune`: deletes executions that ended long ago, and the engine's event records.

import { openEngineDatabase } from '#lib/conductor/database/engine-database.ts';
import type { Config } from '#lib/config/schema.ts';
import { workflowRoutes } from '../../gateway/plugin-api/gateway-routes.ts';
import { planPrune, prune, type PruneOptions, type PrunePlan, type PruneReport } from '../../jobs/prune/prune.ts';
import { problemsOf } from '../../jobs/prune/rules.ts';
import { configFolderOf } from '../gateway/gateway-folder.ts';
import { paint } from '../output/colours.ts';
import { addConfirmationOptions } from '../confirmation.ts';
import { addEngineOption, type EngineAccess, type EngineAccessOptions, openEngine } from '../engine/engine-access.ts';
import { formatSpan, parseCount, parseDuration } from '../input/duration.ts';
import { listenForInterruption } from '../interruption.ts';
import { CommandError, linesOf, type Outcome } from '../outcome.ts';
import { startProgressBar } from '../output/progress-bar.ts';
import { type RuleOptions, rulesFor } from '../input/prune-rules.ts';
import { readGateway } from '../gateway/read-gateway.ts';
import { countOf, formatTable } from '../output/table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `prune`: engine and database, rules, batch size and confirmation. */
export interface PruneCommandOptions extends Pick<EngineAccessOptions, 'engine' | 'dir'>, RuleOptions {
  readonly events: boolean;
  readonly database?: string;
  readonly batch?: string;
  readonly yes?: boolean;
}

/** The command `prune`: deletes old executions and event records. */
export const pruneCommand: CommandDefinition<PruneCommandOptions> = {
  name: 'prune',
  description:
    'Show old executions and old event records of the engine, ask for confirmation, and delete them. Without a terminal it only shows them, unless `--yes` is given.',
  exitCodes: {
    0: 'there was nothing to delete, or everything was deleted',
    1: 'error, or the confirmation was declined; what was deleted before an error stays deleted, and the next run continues',
    2: 'there is more to delete: it was only shown, or the command was interrupted',
  },
  examples: [
    {
      command: 'prune --dry-run',
      does: 'show what prune.completedDays, prune.failedDays, prune.eventDays and prune.<route>.days would delete',
    },
    { command: 'prune', does: 'show the findings and ask' },
    { command: 'prune --yes', does: 'delete without asking; safe to interrupt and to run again' },
    {
      command: 'prune --older-than 7d --state completed --route movies --yes',
      does: 'delete more than the configuration specifies',
    },
  ],
  addOptions: (command) =>
    addConfirmationOptions(addEngineOption(command))
      .option(
        '--older-than <duration>',
        'only executions that ended longer ago than this, and event records that were created longer ago than this, such as 7d or 36h (default: as configured)',
      )
      .option(
        '--state <states>',
        'completed, failed, timed-out, terminated (or cancelled); comma-separated (default: all)',
      )
      .option('--route <name>', 'only executions of this route of gateway.config.yml')
      .option('--workflow <name>', 'only executions of this workflow, such as mdmWF')
      .option('--no-events', 'do not delete event records, and do not open the database')
      .option(
        '--database <url>',
        "the engine's database, for event records and index rows (default: conductor.databaseURL, or that of the running stack; none if --engine names an engine other than conductor.url)",
      )
      .option('--batch <count>', 'how many are deleted in one call, at most 1000 (default: prune.batchSize)'),
  run: runPrune,
};

/** Deletes old executions and event records. @throws ConfigError, EngineError or CommandError */
async function runPrune(options: PruneCommandOptions, context: CommandContext): Promise<Outcome> {
  const { host, onlyShows } = context;
  const usesConfigured = options.events && options.database === undefined;
  const keys = usesConfigured ? (['conductor.databaseURL'] as const) : [];
  const engine = await openEngine(options, host, { keys, worksWhenFull: true });
  const { config } = engine;
  const url = options.events ? (options.database ?? config['conductor.databaseURL']) : undefined;
  const database = url === undefined ? null : await openEngineDatabase(url);
  const interruption = listenForInterruption(host);
  try {
    const plan = await toPlan(options, { config, engine });
    const work: PruneOptions = { ...plan, database, signal: interruption.signal };
    const planned = await planPrune(work);
    const total = planned.rules.reduce((sum, { executions }) => sum + executions, planned.events ?? 0);
    if (onlyShows !== undefined || (total === 0 && options.yes !== true))
      return describePlan(planned, { address: engine.address, skipped: skippedBy(options), note: onlyShows });
    if (options.yes !== true) {
      context.show(describeRules(planned, skippedBy(options)));
      await context.confirm(`Delete executions and event records (${total} in all) at ${engine.address}?`);
    }
    const bar = startProgressBar('deleting', total, host.stderr);
    const report = await prune(work, (done) => bar.advance(done)).finally(() => bar.stop());
    return describeReport(report, { address: engine.address, skipped: skippedBy(options) });
  } finally {
    interruption.stop();
    await database?.close();
    await engine.close();
  }
}

async function toPlan(
  options: PruneCommandOptions,
  { config, engine }: { config: Config; engine: EngineAccess },
): Promise<Omit<PruneOptions, 'database' | 'signal'>> {
  const routes = workflowRoutes((await readGateway(config, configFolderOf(options))).routes);
  const now = Date.now();
  const api = engine.executions;
  const rules = await rulesFor(options, { config, routes, api, now });
  const problems = problemsOf(rules, config);
  if (problems.length > 0) throw new CommandError(problems);
  const batchSize = options.batch === undefined ? config['prune.batchSize'] : parseCount(options.batch, '--batch');
  if (batchSize > 1_000) throw new CommandError(['--batch: the engine takes at most 1000 in one call']);
  const eventsOlderThanMs =
    options.olderThan === undefined
      ? config['prune.eventDays'] * 86_400_000
      : parseDuration(options.olderThan, '--older-than');
  return { api, now, batchSize, rules, eventsOlderThanMs };
}

/** Texts about a run: the engine's address, and the reason to show if event records are skipped. */
interface RunTexts {
  readonly address: string;
  readonly skipped: string;
}

/** Returns the reason why event records are skipped when there is no database. */
function skippedBy({ events }: PruneCommandOptions): string {
  return events
    ? 'event records are skipped: they need conductor.databaseURL or --database (postgresql://…, or sqlite:<file>, but not the file of an engine in a Docker virtual machine)'
    : 'event records are skipped (--no-events)';
}

/** @param texts `note`: why nothing was deleted */
function describePlan(planned: PrunePlan, texts: RunTexts & { note: string | undefined }): Outcome {
  const { address, skipped, note = '' } = texts;
  const { rules, events } = planned;
  const isEmpty = rules.every(({ executions }) => executions === 0) && (events ?? 0) === 0;
  return {
    exitCode: isEmpty ? 0 : 2,
    lines: [...describeRules(planned, skipped), `${address}: ${isEmpty ? 'there is nothing to delete' : note}`],
    json: { ok: isEmpty, engine: address, dryRun: true, rules, events },
  };
}

function describeRules({ rules, events }: PrunePlan, skipped: string): string[] {
  const rows = rules.map(({ name, workflow, olderThanMs, executions }) => [
    String(executions),
    workflow === undefined || name.includes(workflow) ? name : `${workflow}, ${name}`,
    formatSpan(olderThanMs),
  ]);
  return [
    ...formatTable(['executions', 'rule', 'ended longer ago than'], rows),
    '',
    events === null ? paint('faint', skipped) : countOf(events, 'event record'),
  ];
}

function describeReport({ failure, ...report }: PruneReport, { address, skipped }: RunTexts): Outcome {
  const { executions, kept, orphans, events, isComplete } = report;
  const problems = failure === undefined ? [] : linesOf(failure);
  const lines = [
    `${address}: ${countOf(executions, 'execution')} deleted`,
    ...(kept > 0
      ? [
          `${countOf(kept, 'execution')} kept (they belong to another route, are running again, or the engine refused to delete them)`,
        ]
      : []),
    ...(orphans > 0
      ? [
          `${countOf(orphans, 'index row')} without an execution${events === null ? ": deletion needs the engine's database" : ', now deleted'}`,
        ]
      : []),
    events === null ? paint('faint', skipped) : `${countOf(events, 'event record')} deleted`,
    ...(isComplete ? [] : ['interrupted: run `prune` again to continue']),
    ...problems,
  ];
  const json = { engine: address, dryRun: false, ...report };
  if (problems.length > 0) return { exitCode: 1, lines, json: { ok: false, problems, ...json } };
  return { exitCode: isComplete ? 0 : 2, lines, json: { ok: isComplete, ...json } };
}
