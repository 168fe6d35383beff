// Detects an engine without a search index: its searches succeed and find nothing.

import type { ExecutionList, ExecutionReader } from '#lib/conductor/executions/find-executions.ts';
import { type Html, html } from '../pages/html.ts';

/**
 * Returns a notice when the whole index is empty although the engine has, or may have, executions.
 * @param known `latestExecution`: an execution that this router has started
 * @throws EngineError
 */
export async function indexNotice(
  { total }: Pick<ExecutionList, 'total'>,
  { reader, latestExecution }: { reader: ExecutionReader; latestExecution: string | undefined },
): Promise<Html | undefined> {
  if (total > 0 || !(await isIndexEmpty(reader))) return undefined;
  const state = latestExecution === undefined ? null : await reader.readState(latestExecution);
  if (state === null)
    return html`<p class="notice">
      The engine’s search finds no execution at all. Either none was started, or the engine has no index
      (<code>conductor.indexing.enabled=false</code>).
    </p>`;
  return html`<p class="notice bad" role="alert">
    <strong>This engine has no search index</strong> (<code>conductor.indexing.enabled=false</code>), so executions
    cannot be listed or filtered, and follow-up executions are not found. A single execution can be opened by its
    <code>X-Execution-Id</code>.
  </p>`;
}

/** Returns true when a search for any execution finds none. @throws EngineError */
export async function isIndexEmpty(reader: Pick<ExecutionReader, 'search'>): Promise<boolean> {
  return (await reader.search({}, { offset: 0, size: 1 })).total === 0;
}
