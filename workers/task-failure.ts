// How a task ends without a result: a reason that clients may read.

import { formatFailure, type FailureCode } from '#lib/envelope/failure.ts';

/** Ends a task without a result. Its message becomes the reason, which clients may see: no address, no personal value. */
export class TaskFailure extends Error {
  override readonly name: string = 'TaskFailure';
  /** The reason as the engine gets it. */
  get reason(): string {
    return this.message;
  }
}

/** A failure that the router answers with a problem of its own kind. */
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
