// Validates names and ids for searches, and formats states for display. The engine's query language has no quoting, so
// special characters are refused.

const name = /^[\w.:@/+-]{1,256}$/;
/** Execution ids become part of paths and of a header field, so their characters are restricted. */
const executionId = /^[\w-]{8,64}$/;

/**
 * Returns true for a string that a search may contain: the name of a workflow, a client or a route, or a correlation id.
 */
export const isQueryName = (text: string): boolean => name.test(text);

/** Returns true for a string that may be an execution id, as in `X-Execution-Id`. */
export const isExecutionId = (text: string): boolean => executionId.test(text);

/** Returns the state of an execution or a task in words, such as `timed out`. */
export function nameOfState(state: string): string {
  return state.toLowerCase().replaceAll('_', ' ');
}
