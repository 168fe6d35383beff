// Parses the body of an exchange, a request in which a worker process reports results and takes tasks.

import { Problem } from '#lib/problem/problem.ts';
import type { QueueName } from '../dispatch/task-queues.ts';

/** The request of a worker process in one exchange. */
export interface WorkerExchange {
  readonly workerId: string | undefined;
  /** How long the exchange may wait for tasks, in milliseconds. */
  readonly timeoutMs: number;
  /** Queues from which to take tasks, with the maximum number of tasks from each. */
  readonly wanted: readonly (QueueName & { readonly count: number })[];
  /** The results; each is the text of a TaskResult. */
  readonly results: readonly Buffer[];
}

/**
 * Maximum number of results in one exchange; each becomes a call to the engine. Workers of this product report
 * at most as many as they run concurrently.
 */
const maxResults = 1_000;
/** Maximum number of queues in one exchange. */
const maxQueues = 100;

/**
 * Parses the body, which consists of lines of JSON. The first line has `workerId`, `timeout` and `wanted`; every other
 * line is one result, which is returned as it was sent.
 * @throws Problem `malformed-request` (400) when the first line is not as described, or when there are more than 100
 *   entries in `wanted` or more than 1,000 results
 */
export function parseExchange(body: Buffer): WorkerExchange {
  const [first = body, ...results] = splitLines(body);
  const { workerId, timeout, wanted } = parseObject(first);
  if (workerId !== undefined && typeof workerId !== 'string') return refuse();
  if (!isCount(timeout) || !Array.isArray(wanted) || wanted.length > maxQueues) return refuse();
  if (results.length > maxResults) return refuse();
  const queues = wanted.map(toWanted).filter(({ count }) => count > 0);
  return { workerId, timeoutMs: timeout, wanted: queues, results };
}

function toWanted(entry: unknown): QueueName & { count: number } {
  const { taskType, domain, count } = (entry ?? {}) as Record<string, unknown>;
  if (typeof taskType !== 'string' || taskType === '' || !isCount(count)) return refuse();
  if (domain !== undefined && typeof domain !== 'string') return refuse();
  return { taskType, domain: domain || undefined, count };
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}

function splitLines(body: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < body.length;) {
    const end = body.indexOf(10, start);
    const line = body.subarray(start, end < 0 ? body.length : end);
    if (line.length > 0) lines.push(line);
    start = end < 0 ? body.length : end + 1;
  }
  return lines;
}

function parseObject(text: Buffer): Record<string, unknown> {
  try {
    return (JSON.parse(text.toString('utf8')) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}

function refuse(): never {
  throw new Problem('malformed-request', {
    detail:
      'The body must be JSON lines: {workerId, timeout, wanted: [{taskType, domain, count}]}, then one task result per ' +
      `line; at most ${maxQueues} entries in wanted and ${maxResults} results.`,
  });
}
