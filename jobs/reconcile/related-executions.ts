// Finds the executions that follow from other executions, by correlation id and in batches.

import { notifyWorkflow, patchWorkflow, readVersion, shareWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { collegeOf, interestedColleges, namesInterestedSystems } from './classify.ts';
import type { OpenExecution } from './open-executions.ts';
import { isProbe } from './probe.ts';

/** Number of ids per search: the engine accepts a request target of about 8 KiB. */
const idsInOneCall = 50;
const rowsInOnePage = 500;
/** Maximum number of executions of one kind that are read in full per PATCH. */
const maxWhole = 20;

const idPattern = /^[0-9A-Za-z-]{1,64}$/;

/** Follow-up executions by their source: the execution id of the PATCH from which they follow. */
export class RelatedExecutions {
  readonly #api: ExecutionApi;
  readonly #bySource = new Map<string, ExecutionSummary[]>();

  constructor(api: ExecutionApi) {
    this.#api = api;
  }

  /** Loads the index rows of all executions that follow from `sources`. Invalid execution ids are skipped. */
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

  /** Returns true when an MDM notification was started for the source. */
  isNotified(source: string): boolean {
    return this.#followersOf(source, notifyWorkflow).length > 0;
  }

  /** Returns true when the index alone shows that nothing is missing, which is the usual case. */
  isSettledByIndex({ kind, source, summary }: OpenExecution): boolean {
    if (summary === null || !hasEnded(summary)) return false;
    if (kind === 'patch') return this.isNotified(source);
    if (summary.status !== 'COMPLETED') return false;
    if (kind === 'notification' && !namesInterestedSystems(summary)) return false;
    return kind === 'notification' && this.#isSharedWith(source, interestedColleges(summary));
  }

  /** Returns true when an execution of mdm-shareWF exists for each of the colleges. */
  #isSharedWith(source: string, colleges: readonly (string | undefined)[] | undefined): boolean {
    const shared = new Set(this.#followersOf(source, shareWorkflow).map(collegeOf));
    shared.delete(undefined);
    return colleges?.every((college) => shared.has(college)) ?? false;
  }

  /** Reads the mdm-shareWF executions that follow from a source. */
  async readShares(source: string): Promise<WholeExecution[]> {
    return this.#readWhole(this.#followersOf(source, shareWorkflow));
  }

  /** Reads the probes of a PATCH, oldest first. */
  async readProbes(source: string): Promise<WholeExecution[]> {
    const rows = this.#followersOf(source, patchWorkflow).filter(({ version }) => version === readVersion);
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

  #followersOf(source: string, workflowType: string): ExecutionSummary[] {
    return (this.#bySource.get(source) ?? []).filter((row) => row.workflowType === workflowType);
  }

  #add(row: ExecutionSummary): void {
    const source = row.correlationId ?? '';
    const known = this.#bySource.get(source) ?? [];
    if (!known.some(({ workflowId }) => workflowId === row.workflowId)) known.push(row);
    this.#bySource.set(source, known);
  }
}
