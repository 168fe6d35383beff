// Formats a plan as text and as JSON.

import { type Change, digestPlan, changesRegisteredVersion } from '#lib/conductor/metadata/plan.ts';
import { diffOf } from '#lib/conductor/metadata/unified-diff.ts';
import { type Meaning, paint, printable } from './colours.ts';
import type { ShownChange, ShownPlan } from '../engine/definition-scope.ts';
import { countOf } from './table.ts';

const signs = { add: '+', change: '~', remove: '-' } as const;
const meanings: Record<Change['action'], Meaning> = { add: 'added', change: 'changed', remove: 'removed' };

/** Options of the text output. */
export interface PlanLineOptions {
  /** Whether the diff of each change is shown. */
  readonly diff: boolean;
  /** Whether `--force` was given; if so, changes that need it are not marked. */
  readonly force: boolean;
}

/** Returns one line per change, each followed by its diff. */
export function describePlan({ changes, kept }: ShownPlan, { diff, force }: PlanLineOptions): string[] {
  const blocks = changes.map((change) => [
    describeChange(change, force),
    ...(diff ? [...diffOf(change).map(paintDiffLine), ''] : []),
  ]);
  return [...blocks.flat(), ...describeKept(kept)];
}

/** Returns the counts of a plan: `2 to add, 1 to change, 0 to remove; 10 unchanged`. */
export function describeCounts({ changes, unchanged }: ShownPlan): string {
  const count = (action: Change['action']) => changes.filter((change) => change.action === action).length;
  return `${count('add')} to add, ${count('change')} to change, ${count('remove')} to remove; ${unchanged} unchanged`;
}

/** Returns why a change needs `--force`; empty when it does not. */
function forceReasonsOf(change: ShownChange): string[] {
  const { routes } = change;
  const routed =
    routes.length === 0 ? [] : [`started by ${routes.length === 1 ? 'route' : 'routes'} ${routes.join(', ')}`];
  return [...(changesRegisteredVersion(change) ? ['registered version'] : []), ...routed];
}

/** Returns the kind, name and version: `workflow moviesWF v1`. */
export function nameOf(change: Pick<Change, 'kind' | 'name' | 'version'>): string {
  const { kind, name, version } = change;
  return printable(`${kind} ${name}${version === undefined ? '' : ` v${version}`}`);
}

/** Returns the JSON document of a plan. */
export function planToJson(plan: ShownPlan): Record<string, unknown> {
  return {
    plan: digestPlan(plan),
    changes: plan.changes.map((change) => {
      const { action, kind, name, version, file, running } = change;
      const runningExecutions = running && { runningExecutions: running.count, orMore: running.more };
      const needsForce = forceReasonsOf(change).length > 0;
      return { action, kind, name, version, file, needsForce, ...runningExecutions, diff: diffOf(change).join('\n') };
    }),
    unchanged: plan.unchanged,
    onlyInEngine: plan.kept,
  };
}

function describeChange(change: ShownChange, force: boolean): string {
  const { action, file } = change;
  const notes = [
    file ?? 'not in the files',
    ...(force ? [] : forceReasonsOf(change).map((reason) => paint('bad', `${reason}: needs --force`))),
    ...describeRunning(change).map((note) => paint('warning', note)),
  ];
  return `${paint(meanings[action], `${signs[action]} ${nameOf(change)}`)}  ${notes.join('  ')}`;
}

/** Describes the impact on running executions, which keep the definitions that they were started with. */
function describeRunning({ kind, running }: ShownChange): string[] {
  if (running === undefined || running.count === 0) return [];
  const executions = `${running.more ? 'at least ' : ''}${countOf(running.count, 'running execution')}`;
  if (kind === 'event handler') return [`${executions} may still produce the event of this handler`];
  return [`${executions} ${running.count === 1 ? 'keeps' : 'keep'} the old definition`];
}

function describeKept(kept: ShownPlan['kept']): string[] {
  if (kept.length === 0) return [];
  const names = kept.map((id) => `  ${nameOf(id)}`);
  return [paint('faint', `Only in the engine, and left there (--prune removes them):`), ...names, ''];
}

/** Colours a line of a unified diff as git does. */
export function paintDiffLine(line: string): string {
  const text = printable(line);
  if (text.startsWith('---') || text.startsWith('+++')) return paint('heading', text);
  if (text.startsWith('@@')) return paint('faint', text);
  if (text.startsWith('+')) return paint('added', text);
  return text.startsWith('-') ? paint('removed', text) : text;
}
