// Running executions that a change of definitions touches: the third side of the comparison.

import type { MetadataApi, RegisteredDefinitions } from './metadata-api.ts';
import type { Change } from './plan.ts';

/** How many executions have not ended; `more`: there are others whose version was not looked up. */
export interface RunningCount {
  readonly count: number;
  readonly more: boolean;
}

/** A change with the executions that run while it is made. */
export interface TouchingChange extends Change {
  /** Absent for what the engine does not have yet. */
  readonly running?: RunningCount;
}

/** What runs of one workflow, whatever its version. */
interface RunningWorkflow {
  readonly byVersion: ReadonlyMap<number, number>;
  readonly total: number;
}

/** The version of an execution is in the execution only: so many are read of each workflow. */
const mostRead = 1_000;
const atOnce = 4;

/**
 * Counts, for each changed or removed definition, the executions that it touches: those of the workflow version, those of every
 * version with a task of the type, or those of the workflow whose event the handler takes.
 * @throws EngineError
 */
export async function countRunning(
  changes: readonly Change[],
  registered: RegisteredDefinitions,
  api: MetadataApi,
): Promise<TouchingChange[]> {
  const touched = changes.map((change) => (change.action === 'add' ? [] : touchedBy(change, registered)));
  const names = [...new Set(touched.flat().map(({ name }) => name))];
  const running = new Map<string, RunningWorkflow>();
  for (const name of names) running.set(name, await readRunning(name, api));
  return changes.map((change, index) => {
    if (change.action === 'add') return change;
    return { ...change, running: sumOf(touched[index] ?? [], running) };
  });
}

/** A workflow version; without one, every version. */
interface TouchedWorkflow {
  readonly name: string;
  readonly version?: number;
}

function touchedBy({ kind, name, version, before }: Change, { workflows }: RegisteredDefinitions): TouchedWorkflow[] {
  if (kind === 'workflow') return [{ name, ...(version === undefined ? {} : { version }) }];
  if (kind === 'event handler') {
    // `conductor:<workflow>[:<sink>]`; an event of any other source, such as `amqp_queue:…`, has no workflow.
    const [source, producer] = String((before as { event?: unknown }).event).split(':');
    return source !== 'conductor' || producer === undefined || producer === '' ? [] : [{ name: producer }];
  }
  return workflows
    .filter((workflow) => hasTask(workflow['tasks'], name))
    .map((workflow) => ({ name: workflow.name, version: workflow.version }));
}

/** Looks through every branch and loop: an object with this name and a reference name is a task of the type. */
function hasTask(value: unknown, taskType: string): boolean {
  if (value === null || typeof value !== 'object') return false;
  const { name, taskReferenceName } = value as { name?: unknown; taskReferenceName?: unknown };
  if (name === taskType && taskReferenceName !== undefined) return true;
  return Object.values(value).some((item) => hasTask(item, taskType));
}

async function readRunning(name: string, api: MetadataApi): Promise<RunningWorkflow> {
  const ids = await api.readRunning(name);
  const byVersion = new Map<number, number>();
  const looked = ids.slice(0, mostRead);
  for (let start = 0; start < looked.length; start += atOnce) {
    const versions = await Promise.all(looked.slice(start, start + atOnce).map((id) => api.readExecutionVersion(id)));
    for (const version of versions) {
      if (version !== undefined) byVersion.set(version, (byVersion.get(version) ?? 0) + 1);
    }
  }
  return { byVersion, total: ids.length };
}

function sumOf(touched: readonly TouchedWorkflow[], running: ReadonlyMap<string, RunningWorkflow>): RunningCount {
  let count = 0;
  let more = false;
  for (const { name, version } of touched) {
    const { byVersion, total } = running.get(name) ?? { byVersion: new Map<number, number>(), total: 0 };
    count += version === undefined ? total : (byVersion.get(version) ?? 0);
    more ||= version !== undefined && total > mostRead;
  }
  return { count, more };
}
