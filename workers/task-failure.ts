// Errors that end a task without a result, with a reason that clients may see.

import { formatFailure, type FailureCode } from '#lib/envelope/failure.ts';

/**
 * Ends a task without a result. The message becomes the reason for the failure, which clients may see. It must contain
 * no address and no personal data.
 */
export class TaskFailure extends Error {
  override readonly name: string = 'TaskFailure';
  /** `reasonForIncompletion` as reported to the engine. */
  get reason(): string {
    return this.message;
  }
}

/** A failure with a code, which the router maps to a problem type. */
export class CodedFailure extends TaskFailure {
  override readonly name: string = 'CodedFailure';
  readonly code: FailureCode;

  constructor(code: FailureCode, text: string, options?: ErrorOptions) {
    super(text, options);
    this.code = code;
  }

  override get reason(): string {
    return formatFailure(this.code, this.message);
  }
}
