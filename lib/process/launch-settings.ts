// Defines the settings with which the product's programs are launched: Node and the C library read them only at
// startup.

/**
 * Arguments for Node. Semi-spaces of at most 8 MiB limit the young generation to 24 MiB; by default, it grows to 192
 * MiB. The data of requests in flight fits into 24 MiB, so no throughput is lost.
 */
export const nodeArguments = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=8'] as const;

/**
 * Environment variables. glibc creates up to eight arenas per core for the threads of a process, and returns little of
 * their memory to the system (mallopt(3)); two arenas suffice, because these programs have one busy thread.
 */
export const nodeEnvironment = { MALLOC_ARENA_MAX: '2' } as const;
