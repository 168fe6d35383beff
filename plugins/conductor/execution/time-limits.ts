// Time limits around the response deadline of a request.

import { EngineError } from '#lib/conductor/engine-error.ts';
import { rejectAfter } from '#lib/process/deadline.ts';

/**
 * Longest time after the response deadline, in milliseconds, for the two reads that determine the response: whether a
 * failed start has taken effect, and why an execution has not completed. Nothing else runs between the deadline and the
 * response (docs/explanation/reliability.md, I5).
 */
export const lateReadMs = 1_000;

/** Returns the time until a deadline in milliseconds, at least 1. */
export function remainingMs(deadlineAt: number): number {
  return Math.max(1, Math.round(deadlineAt - performance.now()));
}

/** The error for a read from the engine that had not finished by its deadline. */
export class LateRead extends EngineError {
  constructor() {
    super('interrupted', 'the engine did not respond before the deadline');
  }
}

/** Returns the result of a read from the engine. @throws LateRead at the deadline */
export function readBefore<T>(deadlineAt: number, read: Promise<T>): Promise<T> {
  return rejectAfter(remainingMs(deadlineAt), read, () => new LateRead());
}

/**
 * Returns a value that a response can do without; undefined when it cannot be determined or does not arrive before the
 * deadline.
 */
export async function before<T>(deadlineAt: number, value: T | Promise<T>): Promise<T | undefined> {
  return value instanceof Promise ? readBefore(deadlineAt, value).catch(() => undefined) : value;
}
