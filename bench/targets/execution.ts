// The requests that targets send to the engine without the router. They have the same size as those of the router and
// its workers.

import { createInbound } from '#lib/envelope/inbound.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { BenchWorkflow } from '../programs/definitions.ts';

const inbound = createInbound({
  httpMethod: 'GET',
  path: '/Metropolis',
  query: undefined,
  params: { title: 'Metropolis' },
  headers: { accept: '*/*' },
  requestId: '00000000-0000-4000-8000-000000000000',
  clientId: 'demo',
  route: 'movies',
  body: Buffer.alloc(0),
});

/** Returns the request that starts an execution. */
export function startRequest({ workflow }: BenchWorkflow) {
  return { name: workflow, version: 1, correlationId: inbound.requestId, input: { inbound } };
}

/** Returns the body of `POST /api/workflow`. */
export function startBody(definition: BenchWorkflow): string {
  return JSON.stringify(startRequest(definition));
}

/** Output of the task, in the format of the product's worker. */
export const taskOutput = {
  outbound: createOutbound({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ title: 'Metropolis', year: 1927, director: 'Fritz Lang', runtimeMinutes: 153 })),
  }),
};

/** The parts of an execution's status that the targets read. */
export interface Ended {
  readonly status: WorkflowStatus;
  readonly output?: { readonly outbound?: { readonly statusCodeValue?: number } };
}

/** @throws Error when the output of the execution is not the back end's response */
export function expectResponse({ status, output }: Ended): void {
  const code = output?.outbound?.statusCodeValue;
  if (status !== 'COMPLETED' || code !== 200) throw new Error(`the execution is ${status} with the response ${code}`);
}

/** Returns the path of the status call that includes the output. */
export function statusPath(executionId: string): string {
  return `/api/workflow/${executionId}/status?includeOutput=true`;
}
