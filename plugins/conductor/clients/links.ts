// Where a client finds its execution: the paths that gateway.config.yml gives to the policy `executions`.

/** Paths below the router's address. */
export interface ExecutionLinks extends Readonly<Record<string, string>> {
  /** Its status; DELETE cancels it. */
  readonly self: string;
  /** The answer, once there is one. */
  readonly response: string;
}

export function linksOf(executionId: string): ExecutionLinks {
  const self = `/executions/${executionId}`;
  return { self, response: `${self}/response` };
}
