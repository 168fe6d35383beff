// The error thrown for failed calls to the engine. There are three kinds, which callers handle differently.

/**
 * Kinds of failures.
 * - `unreachable`: no connection was made, so nothing was sent; a retry is safe.
 * - `interrupted`: the connection broke or timed out after the request may have arrived; the outcome is unknown.
 * - `refused`: the engine responded with an error status, or with something other than the expected result.
 */
export type EngineErrorKind = 'unreachable' | 'interrupted' | 'refused';

/** Fields of an {@link EngineError} besides kind and message. */
export interface EngineErrorOptions {
  readonly status?: number;
  readonly cause?: unknown;
  readonly isStarting?: boolean;
}

/** A failed call to the engine. Its kind indicates whether the call may have had an effect. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: EngineErrorKind;
  /** HTTP status of the engine's response, for `refused`. */
  readonly status: number | undefined;
  /** True before the engine's first response: the engine may be starting, which is not an outage. */
  readonly isStarting: boolean;

  constructor(kind: EngineErrorKind, message: string, options: EngineErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
    this.isStarting = options.isStarting ?? false;
  }

  /** True when the call had no effect. After a 5xx, the engine may have stored an execution and may run it later. */
  get hadNoEffect(): boolean {
    return this.kind === 'unreachable' || (this.kind === 'refused' && (this.status ?? 500) < 500);
  }
}
