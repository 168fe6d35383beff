// Maps the error of a failed back-end call to a failure code and a text that clients may see.

import { isAxiosError } from 'axios';
import { CodedFailure } from '../task-failure.ts';

/** Error code of a request that was not sent because its task had expired. */
export const taskExpiredCode = 'TASK_EXPIRED';

/** A back-end call that received no complete response. */
export class BackEndFailure extends CodedFailure {
  override readonly name = 'BackEndFailure';
  /** True when the connection failed before a response began and before the deadline. A read may be retried at once. */
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
  /** Time limit for the call, in milliseconds. */
  timeoutMs: number;
  /** True when the deadline has passed. */
  timedOut: boolean;
  /** False when no byte of the request was sent, because there was no usable connection. */
  sent: boolean;
}

/**
 * Converts an error of a call to a `BackEndFailure`. If a write may have reached the back end, the text says that the
 * change may have been applied.
 */
export function toBackEndFailure(error: unknown, { writes, timeoutMs, timedOut, sent }: FailedCall): BackEndFailure {
  const outcomeNote = writes ? '; the change may have been applied' : '';
  const code = codeOf(error);
  if (code === taskExpiredCode) {
    const text =
      'too little time was left to send the request, perhaps because the worker was suspended; nothing was changed';
    return new BackEndFailure('back-end-unreachable', text, { cause: error });
  }
  if (!sent) {
    const text = `no connection${timedOut ? ` within ${timeoutMs} ms` : ''}${writes ? '; nothing was changed' : ''}`;
    return new BackEndFailure('back-end-unreachable', text, { cause: error, connectionLost: !timedOut });
  }
  if (timedOut)
    return new BackEndFailure('back-end-timeout', `no response within ${timeoutMs} ms${outcomeNote}`, { cause: error });
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

/** Returns the code of a system error, even when axios wraps the error as a `cause`; '' when there is none. */
export function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string' && !code.startsWith('ERR_BAD_')) return code;
  return cause === undefined ? '' : codeOf(cause);
}

function isTooLarge(error: unknown): boolean {
  return isAxiosError(error) && error.message.startsWith('maxContentLength');
}
