// Determines the impact of changes to definitions: the running executions that each change affects.

import type { ExecutionApi } from '../executions/execution-api.ts';
import type { RegisteredDefinitions } from './metadata-api.ts';
import type { Change } from './plan.ts';

/** Number of running executions. `more` is true when there are further executions whose version was not read. */
export interface RunningCount {
  readonly count: number;
  readonly more: boolean;
}

/** A change with the number of running executions that it affects. */
export interface ChangeImpact extends Change {
  /** Absent for a new definition. */
  readonly running?: RunningCount;
}

/** Running executions of one workflow. */
interface RunningWorkflow {
  readonly byVersion: ReadonlyMap<number, number>;
  readonly total: number;
}

/**
 * Maximum number of executions read for each workflow. They are read one by one, because the engine's list of running
 * executions has no versions.
 */
const maxRead = 1_000;
const readConcurrency = 4;

/**
 * Counts the running executions that each changed or removed definition affects: the executions of the workflow
 * version, of all workflow versions with a task of the type, or of the workflow whose event the handler processes.
 * @throws EngineError
 */
export async function countRunning(
  changes: readonly Change[],
  registered: RegisteredDefinitions,
  executions: ExecutionApi,
): Promise<ChangeImpact[]> {
  const affected = changes.map((change) => (change.action === 'add' ? [] : affectedBy(change, registered)));
  const names = [...new Set(affected.flat().map(({ name }) => name))];
  const running = new Map<string, RunningWorkflow>();
  for (const name of names) running.set(name, await readRunning(name, executions));
  return changes.map((change, index) => {
    if (change.action === 'add') return change;
    return { ...change, running: sumOf(affected[index] ?? [], running) };
  });
}

/** A workflow version, or all versions when `version` is absent. */
interface AffectedWorkflow {
  readonly name: string;
  readonly version?: number;
}

function affectedBy({ kind, name, version, before }: Change, { workflows }: RegisteredDefinitions): AffectedWorkflow[] {
  if (kind === 'workflow') return [{ name, ...(version === undefined ? {} : { version }) }];
  if (kind === 'event handler') {
    // `conductor:<workflow>[:<sink>]`; an event from any other source, such as `amqp_queue:…`, has no workflow.
    const [source, producer] = String((before as { event?: unknown }).event).split(':');
    return source !== 'conductor' || producer === undefined || producer === '' ? [] : [{ name: producer }];
  }
  return workflows
    .filter((workflow) => hasTask(workflow['tasks'], name))
    .map((workflow) => ({ name: workflow.name, version: workflow.version }));
}

/**
 * Returns whether any branch or loop contains a task of the type: an object with this name and a reference name.
 */
function hasTask(value: unknown, taskType: string): boolean {
  if (value === null || typeof value !== 'object') return false;
  const { name, taskReferenceName } = value as { name?: unknown; taskReferenceName?: unknown };
  if (name === taskType && taskReferenceName !== undefined) return true;
  return Object.values(value).some((item) => hasTask(item, taskType));
}

async function readRunning(name: string, executions: ExecutionApi): Promise<RunningWorkflow> {
  const ids = await executions.running(name);
  const byVersion = new Map<number, number>();
  const read = ids.slice(0, maxRead);
  for (let start = 0; start < read.length; start += readConcurrency) {
    const batch = read.slice(start, start + readConcurrency);
    for (const execution of await Promise.all(batch.map((id) => executions.readWhole(id, { includeTasks: false })))) {
      const version = execution?.workflowVersion;
      if (version !== undefined) byVersion.set(version, (byVersion.get(version) ?? 0) + 1);
    }
  }
  return { byVersion, total: ids.length };
}

function sumOf(affected: readonly AffectedWorkflow[], running: ReadonlyMap<string, RunningWorkflow>): RunningCount {
  let count = 0;
  let more = false;
  for (const { name, version } of affected) {
    const { byVersion, total } = running.get(name) ?? { byVersion: new Map<number, number>(), total: 0 };
    count += version === undefined ? total : (byVersion.get(version) ?? 0);
    more ||= version !== undefined && total > maxRead;
  }
  return { count, more };
}
