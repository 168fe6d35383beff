// Maps the error of a failed back-end call to a failure code and a text that clients may see.

import { isAxiosError } from 'axios';
import { CodedFailure } from '../task-failure.ts';

/** Codes of errors that occur before any byte of the request is sent: DNS, TCP and TLS errors. */
const connectErrors = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EPROTO',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
]);

/** Error code of a request that was not sent because its task had expired. */
export const taskExpiredCode = 'TASK_EXPIRED';

/** A back-end call without a complete response. */
export class BackEndFailure extends CodedFailure {
  override readonly name = 'BackEndFailure';
  /** True when the connection failed before a response began. A read may be retried at once. */
  readonly connectionLost: boolean;

  constructor(code: BackEndFailure['code'], text: string, options: ErrorOptions & { connectionLost?: boolean } = {}) {
    super(code, text, options);
    this.connectionLost = options.connectionLost ?? false;
  }
}

/** The properties of a call that determine the code and text of its failure. */
export interface FailedCall {
  /** False for methods that only read. */
  writes: boolean;
  /** Deadline of the call in milliseconds. */
  timeoutMs: number;
  /** True when the deadline has passed. */
  timedOut: boolean;
}

/**
 * Converts an error of a call to a `BackEndFailure`. The text of a write that may have reached the back end says that
 * the change may have been applied.
 */
export function toBackEndFailure(error: unknown, { writes, timeoutMs, timedOut }: FailedCall): BackEndFailure {
  const outcomeNote = writes ? '; the change may have been applied' : '';
  const code = codeOf(error);
  if (code === taskExpiredCode) {
    const text = 'the worker was suspended until its task had expired; nothing was changed';
    return new BackEndFailure('back-end-unreachable', text, { cause: error });
  }
  if (timedOut)
    return new BackEndFailure('back-end-timeout', `no response within ${timeoutMs} ms${outcomeNote}`, { cause: error });
  if (connectErrors.has(code) || code.startsWith('ERR_TLS_')) {
    const text = writes ? 'no connection; nothing was changed' : 'no connection';
    return new BackEndFailure('back-end-unreachable', text, { cause: error, connectionLost: true });
  }
  const hasResponse = isAxiosError(error) && error.response !== undefined;
  if (code.startsWith('HPE_')) return badResponse('the response is not valid HTTP', outcomeNote, error);
  if (isTooLarge(error)) return badResponse('the response is too large', outcomeNote, error);
  if (hasResponse) return badResponse('the response is incomplete', outcomeNote, error);
  const text = `the connection was closed before a response arrived${outcomeNote}`;
  return new BackEndFailure('back-end-bad-answer', text, { cause: error, connectionLost: true });
}

function badResponse(text: string, outcomeNote: string, cause: unknown): BackEndFailure {
  return new BackEndFailure('back-end-bad-answer', `${text}${outcomeNote}`, { cause });
}

/** Returns the code of a system error, even when axios wraps it as a `cause`; '' when there is none. */
export function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string' && !code.startsWith('ERR_BAD_')) return code;
  return cause === undefined ? '' : codeOf(cause);
}

function isTooLarge(error: unknown): boolean {
  return isAxiosError(error) && error.message.startsWith('maxContentLength');
}
