// Computes worker pools: the workers that poll for each task type and domain, and the length of their queue.

import { directDomain, isDirectDomain, poolDomain } from '../executions/direct-domain.ts';
import type { Definitions } from '../definitions/load-definitions.ts';
import type { PollData, RegisteredDefinitions } from './metadata-api.ts';

/** The workers of one task type in one domain. */
export interface WorkerPool {
  readonly taskType: string;
  /** Absent for the default pool. */
  readonly domain?: string;
  /** Number of queued tasks. */
  readonly waiting: number;
  readonly workers: readonly {
    readonly workerId?: string;
    readonly lastPollSecondsAgo: number;
    /** True when the last poll is older than `staleAfterMs`. */
    readonly stale: boolean;
  }[];
}

/** Data from the engine from which pools are computed. */
export interface PoolFacts {
  readonly pollData: readonly PollData[];
  /** Queue lengths by queue name. */
  readonly queues: Readonly<Record<string, number>>;
  readonly staleAfterMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Returns a pool for each combination of task type and domain that has workers or queued tasks, or is used by an event
 * handler. For a task type without any of these, it returns the default pool.
 */
export function poolsOf(definitions: Definitions, facts: PoolFacts): WorkerPool[] {
  const handlerDomains = definitions.eventHandlers.flatMap(({ definition }) =>
    definition.actions.flatMap(({ start_workflow: start }) => Object.entries(start.taskToDomain)),
  );
  // Excludes the polls of routers. Only routers poll for directly dispatched tasks, to find the tasks that a stopped
  // router has left behind.
  const workerPolls = facts.pollData.filter(({ domain }) => !isDirectDomain(domain));
  return definitions.taskDefs.flatMap(({ definition: { name: taskType } }) => {
    const domains = new Set<string | undefined>([
      ...workerPolls.filter(({ queueName }) => queueName === taskType).map(({ domain }) => domain),
      ...handlerDomains.filter(([type]) => type === taskType).map(([, domain]) => domain),
      ...waitingDomains(taskType, facts.queues),
    ]);
    if (domains.size === 0) domains.add(undefined);
    return sorted(domains).map((domain) => pool(taskType, domain, facts));
  });
}

/** Returns the queues of events that have no active registered handler, with the number of events in each queue. */
export function unheardQueues(
  { eventHandlers, workflows }: Pick<RegisteredDefinitions, 'eventHandlers' | 'workflows'>,
  queues: Readonly<Record<string, number>>,
): Record<string, number> {
  const heard = new Set(eventHandlers.filter(({ active }) => active === true).map(({ event }) => event));
  const producers = new Set(workflows.map(({ name }) => name));
  const unheard = Object.entries(queues)
    .map(([queue, count]) => [`conductor:${queue}`, count, queue.split(':')[0] ?? ''] as const)
    .filter(([event, count, producer]) => count > 0 && producers.has(producer) && !heard.has(event));
  return Object.fromEntries(unheard.map(([event, count]) => [event, count]));
}

function pool(taskType: string, domain: string | undefined, facts: PoolFacts): WorkerPool {
  const workers = facts.pollData
    .filter((poll) => poll.queueName === taskType && poll.domain === domain)
    .map(({ workerId, lastPollTime }) => ({
      ...(workerId === undefined ? {} : { workerId }),
      lastPollSecondsAgo: Math.max(0, Math.round((facts.now - lastPollTime) / 1_000)),
      stale: facts.now - lastPollTime > facts.staleAfterMs,
    }));
  // Directly dispatched reads wait for the same workers, so they count as well.
  const [polled, dispatched] = [domain, directDomain(domain)].map(
    (name) => facts.queues[name === undefined ? taskType : `${name}:${taskType}`] ?? 0,
  );
  const waiting = (polled as number) + (dispatched as number);
  return { taskType, ...(domain === undefined ? {} : { domain }), waiting, workers };
}

function waitingDomains(taskType: string, queues: Readonly<Record<string, number>>): (string | undefined)[] {
  return Object.entries(queues).flatMap(([queue, count]) => {
    if (count === 0) return [];
    if (queue === taskType) return [undefined];
    return queue.endsWith(`:${taskType}`) ? [poolDomain(queue.slice(0, -taskType.length - 1))] : [];
  });
}

/** Returns the domains by name, the default pool first. */
function sorted(domains: ReadonlySet<string | undefined>): (string | undefined)[] {
  // Array.prototype.sort would put undefined last, whatever the comparator.
  const names = [...domains].filter((domain) => domain !== undefined).toSorted();
  return domains.has(undefined) ? [undefined, ...names] : names;
}
