// Names the task domains of reads that routers dispatch directly: queues of the engine that no worker polls.

import { directDispatchDomain as prefix } from '#lib/config/task-domain.ts';

/**
 * Returns the engine's task domain for directly dispatched tasks of a pool. A poll for the pool never returns these
 * tasks, whichever router sends it.
 * @param domain task domain of the pool; undefined for the default pool
 */
export function directDomain(domain: string | undefined): string {
  return domain === undefined ? prefix : `${prefix}.${domain}`;
}

/** Returns true for a domain that {@link directDomain} returns. */
export function isDirectDomain(domain: string | undefined): boolean {
  return domain === prefix || domain?.startsWith(`${prefix}.`) === true;
}

/**
 * Returns the domain of a task's pool. This is the domain of the pool's workers, whether the task is dispatched
 * directly or polled.
 */
export function poolDomain(domain: string | undefined): string | undefined {
  return isDirectDomain(domain) ? domain?.slice(prefix.length + 1) || undefined : domain;
}
