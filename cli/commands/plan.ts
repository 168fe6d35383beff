// The command `plan`: shows which changes would bring the engine's definitions in line with the files.

import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { paint, printable } from '../output/colours.ts';
import { digestPlan } from '#lib/conductor/metadata/plan.ts';
import {
  addPlanOptions,
  type PlanCommandOptions,
  readRepository,
  readShownPlan,
  type ShownPlan,
} from '../engine/definition-scope.ts';
import { openEngine } from '../engine/engine-access.ts';
import type { ExitCode, Outcome } from '../outcome.ts';
import { describeCounts, describePlan, planToJson } from '../output/plan-lines.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** The command `plan`. */
export const plan: CommandDefinition<PlanCommandOptions> = {
  name: 'plan',
  description:
    'Show what `apply` would change in the engine, as diffs, and how many running executions each change affects.',
  exitCodes: {
    0: 'there is nothing to do',
    1: 'error: a definition file is not valid, the engine is unreachable, or a route starts a version that does not exist',
    2: 'there are changes',
  },
  examples: [
    { command: 'plan', does: 'show what `apply` would do' },
    { command: 'plan --prune --no-diff', does: 'include removals; list the changes without diffs' },
    { command: "plan --only 'mdm*'", does: 'only definitions whose names start with mdm' },
    { command: 'plan --json', does: 'for programs: digest of the plan, all changes and their diffs' },
  ],
  addOptions: addPlanOptions,
  run: runPlan,
};

/** Compares files and engine and describes the plan. @throws ConfigError, CommandError or EngineError */
export async function runPlan(options: PlanCommandOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const files = readRepository(options);
  const engine = await openEngine(options, host);
  try {
    const repository = forColleges(files, engine.config);
    return describe(await readShownPlan(repository, engine, options), engine.address, options);
  } finally {
    await engine.close();
  }
}

function describe(shown: ShownPlan, address: string, { diff, force = false }: PlanCommandOptions): Outcome {
  const { missing } = shown;
  const exitCode: ExitCode = missing.length > 0 ? 1 : shown.changes.length === 0 ? 0 : 2;
  return {
    exitCode,
    lines: [
      ...describePlan(shown, { diff, force }),
      ...missing.map((line) => paint('bad', printable(line))),
      `${address}: ${conclusion(shown)}`,
    ],
    json: { ok: exitCode === 0, problems: missing, engine: address, ...planToJson(shown), missing },
  };
}

function conclusion(shown: ShownPlan): string {
  if (shown.changes.length === 0) return `no changes; ${shown.unchanged} unchanged`;
  return `plan ${digestPlan(shown)}: ${describeCounts(shown)}`;
}
