// What else the engine has for an execution: found by correlation id, many at once.

import type { ExecutionApi, ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { collegeOf, interestedColleges } from './classify.ts';
import { notifyWorkflow, patchWorkflow, readVersion, shareWorkflow, updateWorkflow } from './mdm-definitions.ts';
import type { OpenExecution } from './open-executions.ts';
import { isProbe } from './probe.ts';

/** Ids in one call: the engine's server takes about 8 KiB of request target. */
const idsInOneCall = 50;
const rowsInOnePage = 500;
/** Executions of one kind that are read whole for one PATCH. */
const maxWhole = 20;

const idPattern = /^[0-9A-Za-z-]{1,64}$/;

/** Executions by the source that they follow from: the PATCH's execution id. */
export class Relations {
  readonly #api: ExecutionApi;
  readonly #bySource = new Map<string, ExecutionSummary[]>();

  constructor(api: ExecutionApi) {
    this.#api = api;
  }

  /** Reads what follows from these executions. A text that is no execution id has no relations. */
  async load(sources: readonly string[]): Promise<void> {
    const ids = [...new Set(sources)].filter((id) => idPattern.test(id));
    for (let at = 0; at < ids.length; at += idsInOneCall) {
      const correlationIds = ids.slice(at, at + idsInOneCall);
      for (let offset = 0, isLast = false; !isLast; offset += rowsInOnePage) {
        const { executions } = await this.#api.search({ correlationIds }, { offset, size: rowsInOnePage });
        for (const row of executions) this.#add(row);
        isLast = executions.length < rowsInOnePage;
      }
    }
  }

  isNotified(source: string): boolean {
    return this.#of(source, notifyWorkflow).length > 0;
  }

  /** True when the rows of the index alone show that everything followed: the usual case. */
  showSettled({ kind, source, summary }: OpenExecution): boolean {
    if (summary === null || summary.status === 'RUNNING' || summary.status === 'PAUSED') return false;
    if (kind === 'patch') return this.isNotified(source);
    if (summary.status !== 'COMPLETED') return false;
    if (kind === 'notification') return this.#isSharedWith(source, interestedColleges(summary));
    // Two updates with one id may be for two colleges.
    const isOnly = kind === 'update' && this.#of(source, updateWorkflow).length === 1;
    return isOnly && this.#isSharedWith(source, [collegeOf(summary)]);
  }

  /** True when there is a share for each of these colleges. */
  #isSharedWith(source: string, colleges: readonly (string | undefined)[] | undefined): boolean {
    const shared = new Set(this.#of(source, shareWorkflow).map(collegeOf));
    shared.delete(undefined);
    return colleges?.every((college) => shared.has(college)) ?? false;
  }

  async readShares(source: string): Promise<WholeExecution[]> {
    return this.#readWhole(this.#of(source, shareWorkflow));
  }

  /** Oldest first. */
  async readProbes(source: string): Promise<WholeExecution[]> {
    const rows = this.#of(source, patchWorkflow).filter(({ version }) => version === readVersion);
    const executions = await this.#readWhole(rows);
    return executions.filter(isProbe).toSorted((one, other) => one.startTime - other.startTime);
  }

  async #readWhole(rows: readonly ExecutionSummary[]): Promise<WholeExecution[]> {
    const executions: WholeExecution[] = [];
    for (const { workflowId } of rows.slice(-maxWhole)) {
      const execution = await this.#api.readWhole(workflowId);
      if (execution !== null) executions.push(execution);
    }
    return executions;
  }

  #of(source: string, workflowType: string): ExecutionSummary[] {
    return (this.#bySource.get(source) ?? []).filter((row) => row.workflowType === workflowType);
  }

  #add(row: ExecutionSummary): void {
    const source = row.correlationId ?? '';
    const known = this.#bySource.get(source) ?? [];
    if (!known.some(({ workflowId }) => workflowId === row.workflowId)) known.push(row);
    this.#bySource.set(source, known);
  }
}
