// Validates the task domains of workers, which are part of the names of the engine's queues.

/**
 * Task domain for directly dispatched reads of the default pool. For any other pool, the corresponding domain begins
 * with this name and a dot.
 */
export const directDispatchDomain = 'direct-dispatch';

/** Returns the problem with a task domain; null when workers may poll it. */
export function problemOfTaskDomain(domain: string): string | null {
  if (!/^[\w.-]{1,64}$/.test(domain)) return 'must have 1 to 64 characters: letters, digits, ".", "_" or "-"';
  if (domain.toUpperCase() === 'NO_DOMAIN') return 'must not be NO_DOMAIN: the engine treats that as the default pool';
  if (domain === directDispatchDomain || domain.startsWith(`${directDispatchDomain}.`))
    return `must not be "${directDispatchDomain}" or begin with "${directDispatchDomain}.": both are reserved for direct dispatch`;
  return null;
}
