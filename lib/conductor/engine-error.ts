// What can go wrong between us and the engine, in the three kinds that callers act on differently.

/**
 * - `unreachable`: no connection was made, so nothing was sent; trying again is safe.
 * - `interrupted`: the connection broke or timed out after the request may have arrived; the outcome is unknown.
 * - `refused`: the engine answered with an error status.
 */
export type EngineErrorKind = 'unreachable' | 'interrupted' | 'refused';

export interface EngineErrorOptions {
  readonly status?: number;
  readonly cause?: unknown;
  readonly isStarting?: boolean;
}

export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: EngineErrorKind;
  /** The engine's status, for `refused`. */
  readonly status: number | undefined;
  /** True while the engine has answered no call yet: it may be starting, which is no outage. */
  readonly isStarting: boolean;

  constructor(kind: EngineErrorKind, message: string, options: EngineErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
    this.isStarting = options.isStarting ?? false;
  }
}

/** Codes of errors that happen before a byte of the request has left. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Sorts a transport error into `unreachable` or `interrupted`. */
export function toEngineError(error: unknown, call: string): EngineError {
  if (error instanceof EngineError) return error;
  const { code = '', syscall } = error as { code?: string; syscall?: string };
  // `connect` covers what this machine itself has run out of: file descriptors, ports.
  const kind = beforeSending.has(code) || syscall === 'connect' ? 'unreachable' : 'interrupted';
  return new EngineError(kind, `${call}: ${code || (error as Error).message}`, { cause: error });
}
