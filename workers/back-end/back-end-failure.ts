// Why a call to a back end brought no answer, in the words and codes a client gets to see.

import { isAxiosError } from 'axios';
import { CodedFailure } from '../task-failure.ts';

/** Errors that happen before a byte of the request has left. */
const neverSent = new Set([
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

/** Code of the error of a request that was not sent because its task had expired. */
export const tooLate = 'TASK_EXPIRED';

/** A call without an answer. */
export class BackEndFailure extends CodedFailure {
  override readonly name = 'BackEndFailure';
  /** True when the request was lost before an answer began: a read may be tried again at once. */
  readonly connectionLost: boolean;

  constructor(code: BackEndFailure['code'], text: string, options: ErrorOptions & { connectionLost?: boolean } = {}) {
    super(code, text, options);
    this.connectionLost = options.connectionLost ?? false;
  }
}

/** What of the call decides how its failure reads. */
export interface FailedCall {
  /** False for methods that only read. */
  writes: boolean;
  timeoutMs: number;
  /** True when the deadline has passed. */
  timedOut: boolean;
}

/** Sorts whatever a call threw. A write that may have arrived says so: its outcome is unknown. */
export function toBackEndFailure(error: unknown, { writes, timeoutMs, timedOut }: FailedCall): BackEndFailure {
  const unsure = writes ? '; the change may have been applied' : '';
  const code = codeOf(error);
  if (code === tooLate) {
    const text = 'the worker was suspended until it was too late to call the back end; nothing was changed';
    return new BackEndFailure('back-end-unreachable', text, { cause: error });
  }
  if (timedOut)
    return new BackEndFailure('back-end-timeout', `no answer within ${timeoutMs} ms${unsure}`, { cause: error });
  if (neverSent.has(code) || code.startsWith('ERR_TLS_')) {
    const text = writes ? 'no connection; nothing was changed' : 'no connection';
    return new BackEndFailure('back-end-unreachable', text, { cause: error, connectionLost: true });
  }
  const answered = isAxiosError(error) && error.response !== undefined;
  if (code.startsWith('HPE_')) return badAnswer('the answer is not valid HTTP', unsure, error);
  if (isTooLarge(error)) return badAnswer('the answer is too large', unsure, error);
  if (answered) return badAnswer('the answer was cut', unsure, error);
  const text = `the connection was closed before an answer came${unsure}`;
  return new BackEndFailure('back-end-bad-answer', text, { cause: error, connectionLost: true });
}

function badAnswer(text: string, unsure: string, cause: unknown): BackEndFailure {
  return new BackEndFailure('back-end-bad-answer', `${text}${unsure}`, { cause });
}

/** The code of a system error, however deep axios has wrapped it. */
export function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string' && !code.startsWith('ERR_BAD_')) return code;
  return cause === undefined ? '' : codeOf(cause);
}

function isTooLarge(error: unknown): boolean {
  return isAxiosError(error) && error.message.startsWith('maxContentLength');
}
