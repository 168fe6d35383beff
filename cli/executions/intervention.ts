// `executions retry`, `terminate` and `cancel`: what all three do alike.

import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import {
  previewInterventions,
  intervene,
  type InterventionResult,
  type Intervention,
  type InterventionPreview,
} from '#lib/conductor/executions/interventions.ts';
import { paint } from '../colours.ts';
import { addConfirmationOptions } from '../confirmation.ts';
import { addEngineOption, type EngineAccessOptions, openEngine } from '../engine-access.ts';
import { parseExecutionId } from '../input/names.ts';
import { type Outcome, CommandError } from '../outcome.ts';
import { alignColumns, countOf } from '../table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

export interface InterventionOptions extends Pick<EngineAccessOptions, 'engine'> {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

const did = { retry: 'retried', terminate: 'terminated', cancel: 'cancelled' } as const;

/** @param words what stands in its help */
export function interventionVerb(
  intervention: Intervention,
  words: Pick<CommandDefinition<InterventionOptions>, 'description' | 'examples'>,
): CommandDefinition<InterventionOptions> {
  return {
    name: intervention,
    ...words,
    exitCodes: {
      0: `every one of them was ${did[intervention]}`,
      1: 'error: nothing was changed, or the engine went out of reach on the way',
      2: 'some were refused and the others were done, or --dry-run found something to do',
    },
    addOptions: (command) => {
      const withIds = addConfirmationOptions(addEngineOption(command.argument('<id...>', 'execution ids')));
      return intervention === 'retry'
        ? withIds
        : withIds.option(
            '--reason <text>',
            'stands in the execution, for everybody to read',
            `${intervention} by an operator`,
          );
    },
    run: (options, context) => run(intervention, options, context),
  };
}

async function run(
  intervention: Intervention,
  options: InterventionOptions,
  context: CommandContext,
): Promise<Outcome> {
  const ids = [...new Set(context.args.map(parseExecutionId))];
  const engine = await openEngine(options, context.host);
  try {
    const api = new ExecutionApi(engine.call);
    const prospects: InterventionPreview[] = [];
    for (const id of ids) prospects.push(await previewInterventions(intervention, id, api));
    const possible = prospects.filter((prospect) => prospect.kind === 'possible');
    if (possible.length === 0) {
      throw new CommandError(prospects.map((prospect) => `${prospect.executionId}: ${describeProspect(prospect)}`));
    }
    const preview = alignColumns(prospects.map((prospect) => [prospect.executionId, describeProspect(prospect)]));
    if (options.dryRun === true) return describePreview(preview, prospects);
    context.show(preview);
    await context.confirm(`${intervention} ${countOf(possible.length, 'execution')}?`);
    const reason = options.reason ?? '';
    const results: InterventionResult[] = [];
    for (const { executionId } of possible) results.push(await intervene(intervention, executionId, { api, reason }));
    return describe(intervention, prospects, results);
  } finally {
    await engine.close();
  }
}

function describeProspect(prospect: InterventionPreview): string {
  if (prospect.kind === 'refused') return prospect.reason;
  return prospect.warning === undefined ? 'can be done' : paint('warning', prospect.warning);
}

function describePreview(preview: readonly string[], prospects: readonly InterventionPreview[]): Outcome {
  return {
    exitCode: 2,
    lines: [...preview, '', 'nothing was changed (--dry-run)'],
    json: { ok: false, dryRun: true, executions: prospects },
  };
}

function describe(
  intervention: Intervention,
  prospects: readonly InterventionPreview[],
  results: readonly InterventionResult[],
): Outcome {
  const early = prospects.flatMap((prospect): InterventionResult[] =>
    prospect.kind === 'refused'
      ? [{ executionId: prospect.executionId, outcome: 'refused', reason: prospect.reason }]
      : [],
  );
  const all = [...results, ...early];
  const refused = all.filter(({ outcome }) => outcome === 'refused').length;
  const rows = all.map(({ executionId, outcome, reason = '' }) => [
    executionId,
    outcome === 'done' ? paint('good', did[intervention]) : paint('bad', 'refused'),
    reason,
  ]);
  return {
    exitCode: refused === 0 ? 0 : 2,
    lines: alignColumns(rows),
    json: { ok: refused === 0, executions: all },
  };
}
