// The command `apply`: makes exactly the changes that the plan shows.

import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { type Applied, applyPlan } from '#lib/conductor/metadata/apply.ts';
import { digestPlan, changesRegisteredVersion } from '#lib/conductor/metadata/plan.ts';
import { addConfirmationOptions } from '../confirmation.ts';
import { paint } from '../output/colours.ts';
import {
  addPlanOptions,
  type PlanCommandOptions,
  readPlan,
  readRepository,
  readShownPlan,
  type ShownPlan,
} from '../engine/definition-scope.ts';
import { type EngineAccess, openEngine } from '../engine/engine-access.ts';
import { listenForInterruption } from '../interruption.ts';
import { type Outcome, CommandError } from '../outcome.ts';
import { runPlan } from './plan.ts';
import { describeCounts, describePlan, nameOf, planToJson } from '../output/plan-lines.ts';
import { countOf } from '../output/table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `apply`: those of `plan`, plus the approved plan and the confirmation. */
export interface ApplyOptions extends PlanCommandOptions {
  /** Digest of the approved plan. */
  readonly plan?: string;
  readonly dryRun?: boolean;
}

/** The command `apply`: updates the engine from the files. */
export const apply: CommandDefinition<ApplyOptions> = {
  name: 'apply',
  description: 'Show the plan, ask for confirmation, and apply it. Can be interrupted at any point and run again.',
  exitCodes: {
    0: 'the engine matches the files',
    1: 'error, or the confirmation was declined; the output says what was done and what was not',
    2: 'nothing was written: --force is needed and was not given, the plan is not the approved one, or --dry-run found changes',
  },
  examples: [
    { command: 'apply', does: 'show the plan and ask' },
    { command: 'apply --yes', does: 'apply without asking, in a CI pipeline' },
    { command: 'apply --yes --plan 4f1c0a9be327', does: 'apply only the plan that `plan` showed with this digest' },
    { command: 'apply --prune', does: 'also remove definitions that only the engine has' },
  ],
  addOptions: (command) =>
    addConfirmationOptions(addPlanOptions(command)).option(
      '--plan <digest>',
      'do nothing unless the plan is the one that `plan` showed with this digest',
    ),
  run: runApply,
};

/**
 * Shows the plan, asks for confirmation and applies it.
 * @throws ConfigError, CommandError or EngineError; the error of a single step is part of the outcome
 */
export async function runApply(options: ApplyOptions, context: CommandContext): Promise<Outcome> {
  if (options.dryRun === true) return runPlan(options, context);
  const files = readRepository(options);
  const engine = await openEngine(options, context.host);
  try {
    const repository = forColleges(files, engine.config);
    const { diff, force = false } = options;
    const shown = await readShownPlan(repository, engine, options);
    if (shown.changes.length === 0) return nothingToDo(shown, engine.address);
    context.show(describePlan(shown, { diff, force }));
    const refusal = findRefusal(shown, options);
    if (refusal !== undefined) return refused(shown, engine.address, refusal);
    context.show([`plan ${digestPlan(shown)}: ${describeCounts(shown)}`]);
    await context.confirm(`Make ${countOf(shown.changes.length, 'change')} at ${engine.address}?`);
    const replan = () => readPlan(repository, engine.api, options);
    return describe(await run(shown, { engine, context, replan }), shown, engine.address);
  } finally {
    await engine.close();
  }
}

/**
 * Returns why nothing may be written; undefined when the plan may be applied.
 * @throws CommandError for changes that the router does not forward
 */
function findRefusal(shown: ShownPlan, { force, plan, router }: ApplyOptions): string | undefined {
  if (router !== undefined && shown.changes.some(({ action }) => action === 'remove')) {
    throw new CommandError([
      'nothing was changed: the router does not forward removals; use --engine instead of --router',
    ]);
  }
  if (plan !== undefined && plan !== digestPlan(shown)) {
    return `this is plan ${digestPlan(shown)}, not ${plan}: the files or the engine have changed since plan ${plan} was shown, or --only or --prune is different. Run \`plan\` again`;
  }
  if (force === true) return undefined;
  if (shown.changes.some(changesRegisteredVersion)) {
    return 'a registered workflow version differs. Publish the change as a new version, or overwrite this one with --force';
  }
  const routed = shown.changes.find(({ routes }) => routes.length > 0);
  return (
    routed &&
    `${nameOf(routed)} would be removed, but is started by route ${routed.routes.join(', route ')}: change the gateway configuration first, or use --force`
  );
}

interface Run {
  readonly engine: EngineAccess;
  readonly context: CommandContext;
  readonly replan: () => ReturnType<typeof readPlan>;
}

/** Applies the plan. The first signal stops the work after the current step; the second ends the process. */
async function run(shown: ShownPlan, { engine, context, replan }: Run): Promise<Applied> {
  const interruption = listenForInterruption(context.host);
  try {
    return await applyPlan(shown, {
      api: engine.api,
      replan,
      signal: interruption.signal,
      onStep: (change, outcome) => {
        const note = outcome === 'done' ? '' : paint('faint', '  (already made by somebody else)');
        context.show([`${actionLabels[change.action]} ${nameOf(change)}${note}`]);
      },
    });
  } finally {
    interruption.stop();
  }
}

const actionLabels = { add: 'added  ', change: 'changed', remove: 'removed' } as const;

function nothingToDo(shown: ShownPlan, address: string): Outcome {
  return {
    exitCode: 0,
    lines: [`${address}: no changes; ${shown.unchanged} unchanged`],
    json: { ok: true, engine: address, outcome: 'done', ...planToJson(shown), done: [] },
  };
}

function refused(shown: ShownPlan, address: string, reason: string): Outcome {
  return {
    exitCode: 2,
    lines: [`${address}: nothing was written: ${reason}`],
    json: { ok: false, engine: address, outcome: 'refused', problems: [reason], ...planToJson(shown), done: [] },
  };
}

function describe(applied: Applied, shown: ShownPlan, address: string): Outcome {
  const { outcome, done } = applied;
  const problems = problemsOf(applied, shown);
  const nothingWritten = outcome === 'engine changed' && done.length === 0;
  const titles = done.map(({ action, kind, name, version }) => ({ action, kind, name, version }));
  return {
    exitCode: outcome === 'done' ? 0 : nothingWritten ? 2 : 1,
    lines:
      outcome === 'done'
        ? [`${address}: ${countOf(done.length, 'change')} made; the engine matches the files`]
        : problems.map((problem, index) => (index === 0 ? `${address}: ${problem}` : problem)),
    json: { ok: outcome === 'done', engine: address, outcome, problems, ...planToJson(shown), done: titles },
  };
}

function problemsOf({ outcome, done, unseen, error }: Applied, { changes }: ShownPlan): string[] {
  const progress = `${done.length} of ${countOf(changes.length, 'change')} made`;
  switch (outcome) {
    case 'done':
      return [];
    case 'interrupted':
      return [`interrupted: ${progress}; run \`apply\` again for the rest`];
    case 'failed':
      return [`${error?.message ?? 'failed'}`, `${progress}; run \`apply\` again for the rest`];
    case 'engine changed':
      return [
        `the engine has changed since the plan was shown; ${progress}. Run \`plan\` again. These changes were not in the plan:`,
        ...unseen.map((change) => `  ${change.action} ${nameOf(change)}`),
      ];
  }
}
