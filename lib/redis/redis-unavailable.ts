// The error of a command that Redis has not executed, or may not have. Separate from the connection, which loads node-redis.

/** Redis does not respond, responds with an error, or has too many pending commands. */
export class RedisUnavailable extends Error {
  /** False when the command was not sent. */
  readonly mayHaveRun: boolean;

  constructor(message: string, { mayHaveRun, cause }: { mayHaveRun: boolean; cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'RedisUnavailable';
    this.mayHaveRun = mayHaveRun;
  }
}
