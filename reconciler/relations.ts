// What else the engine has for an execution: found by correlation id, many at once.

import type { ExecutionApi, ExecutionSummary, WholeExecution } from '../conductor/executions/execution-api.ts';
import { notifyWorkflow, patchWorkflow, readVersion, shareWorkflow, updateWorkflow } from './flows.ts';
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

  countShares(source: string): number {
    return this.#of(source, shareWorkflow).length;
  }

  /** Updates of the queue that MDM gave this id. */
  countUpdates(source: string): number {
    return this.#of(source, updateWorkflow).length;
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
