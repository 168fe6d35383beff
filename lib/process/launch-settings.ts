// How the product's programs are started: settings of Node and of the C library that have to be there before they run.

/**
 * Arguments of Node. Semi-spaces of 8 MiB limit the young generation to 16 MiB, which by default grows to 128: what a router
 * has in flight fits, and no throughput is lost.
 */
export const nodeArguments = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=8'] as const;

/**
 * Environment variables. glibc gives up to eight arenas for each core to the threads of a process, and returns little of
 * them to the system (mallopt(3)); these programs have one busy thread.
 */
export const nodeEnvironment = { MALLOC_ARENA_MAX: '2' } as const;
