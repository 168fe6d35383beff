// Implements the commands `executions retry`, `terminate` and `cancel`.

import {
  previewInterventions,
  carryOutIntervention,
  type InterventionResult,
  type Intervention,
  type InterventionPreview,
} from '#lib/conductor/executions/interventions.ts';
import { paint } from '../../output/colours.ts';
import { addConfirmationOptions } from '../../confirmation.ts';
import { addEngineOption, type EngineAccessOptions, openEngine } from '../../engine/engine-access.ts';
import { parseExecutionId } from '../../input/names.ts';
import { type Outcome, CommandError } from '../../outcome.ts';
import { alignColumns, countOf } from '../../output/table.ts';
import type { CommandDefinition, CommandContext } from '../../command-definition.ts';

/** Options of the three commands. */
export interface InterventionOptions extends Pick<EngineAccessOptions, 'engine'> {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

const pastTense = { retry: 'retried', terminate: 'terminated', cancel: 'cancelled' } as const;

/**
 * Returns the command that applies an intervention to the given executions.
 * @param words description and examples for the help
 */
export function interventionCommand(
  intervention: Intervention,
  words: Pick<CommandDefinition<InterventionOptions>, 'description' | 'examples'>,
): CommandDefinition<InterventionOptions> {
  return {
    name: intervention,
    ...words,
    exitCodes: {
      0: `all executions were ${pastTense[intervention]}`,
      1: 'error: nothing was changed, or the engine stopped responding and the output lists what was done',
      2: 'some were refused and the others succeeded, or --dry-run found something to do',
    },
    addOptions: (command) => {
      const withIds = addConfirmationOptions(addEngineOption(command.argument('<id...>', 'execution ids')));
      return intervention === 'retry'
        ? withIds
        : withIds.option(
            '--reason <text>',
            'reason recorded in the execution, visible to everybody who can read it',
            `${pastTense[intervention]} by an operator`,
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
    const api = engine.executions;
    const previews: InterventionPreview[] = [];
    for (const id of ids) previews.push(await previewInterventions(intervention, id, api));
    const possible = previews.filter((preview) => preview.kind === 'possible');
    if (possible.length === 0) {
      throw new CommandError(previews.map((preview) => `${preview.executionId}: ${describePossibility(preview)}`));
    }
    const lines = alignColumns(previews.map((preview) => [preview.executionId, describePossibility(preview)]));
    if (options.dryRun === true) return describeDryRun(lines, previews);
    context.show(lines);
    await context.confirm(`${intervention} ${countOf(possible.length, 'execution')}?`);
    const carryOut = (id: string) => carryOutIntervention(intervention, id, { api, reason: options.reason ?? '' });
    const possibleIds = possible.map(({ executionId }) => executionId);
    return describe(intervention, previews, await carryOutAll(possibleIds, carryOut));
  } finally {
    await engine.close();
  }
}

/**
 * Changes one execution after the other, and stops at the first for which the engine fails. Does not throw, because the
 * results must show what was done before the failure.
 */
async function carryOutAll(
  ids: readonly string[],
  carryOut: (id: string) => Promise<InterventionResult>,
): Promise<InterventionResult[]> {
  const results: InterventionResult[] = [];
  for (const executionId of ids)
    results.push(results.some(hasFailed) ? { executionId, outcome: 'not tried' } : await carryOut(executionId));
  return results;
}

function hasFailed({ outcome }: InterventionResult): boolean {
  return outcome === 'unknown' || outcome === 'not tried';
}

function describePossibility(preview: InterventionPreview): string {
  if (preview.kind === 'refused') return preview.reason;
  return preview.warning === undefined ? 'can be done' : paint('warning', preview.warning);
}

function describeDryRun(lines: readonly string[], previews: readonly InterventionPreview[]): Outcome {
  return {
    exitCode: 2,
    lines: [...lines, '', 'nothing was changed (--dry-run)'],
    json: { ok: false, dryRun: true, executions: previews },
  };
}

function describe(
  intervention: Intervention,
  previews: readonly InterventionPreview[],
  results: readonly InterventionResult[],
): Outcome {
  const early = previews.flatMap((preview): InterventionResult[] =>
    preview.kind === 'refused'
      ? [{ executionId: preview.executionId, outcome: 'refused', reason: preview.reason }]
      : [],
  );
  const all = [...results, ...early];
  const isDone = all.every(({ outcome }) => outcome === 'done');
  const problems = all.flatMap((result) =>
    hasFailed(result) && result.reason !== undefined ? [`${result.executionId}: ${result.reason}`] : [],
  );
  const rows = all.map(({ executionId, outcome, reason = '' }) => [
    executionId,
    outcome === 'done' ? paint('good', pastTense[intervention]) : paint('bad', outcome),
    reason,
  ]);
  return {
    exitCode: problems.length > 0 ? 1 : isDone ? 0 : 2,
    lines: alignColumns(rows),
    json: { ok: isDone, ...(problems.length > 0 ? { problems } : {}), executions: all },
  };
}
