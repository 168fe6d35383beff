// The forms of names and ids in searches. The engine's query language has no quoting, so special characters are refused.

const name = /^[\w.:@/+-]{1,256}$/;
const executionId = /^[\w-]{8,64}$/;

/** Returns true for a text that a search may contain: the name of a workflow, a client or a route, or a correlation id. */
export const isQueryName = (text: string): boolean => name.test(text);

/** Returns true for a text that may be an execution id, as in `X-Execution-Id`. */
export const isExecutionId = (text: string): boolean => executionId.test(text);
