// The error thrown for a command that Redis may not have executed. The error has its own file: unlike redis.ts, this
// file does not load node-redis.

/** Thrown when Redis does not respond, responds with an error, or has too many pending commands. */
export class RedisUnavailable extends Error {
  /** False when the command was not sent. */
  readonly mayHaveRun: boolean;

  constructor(message: string, { mayHaveRun, cause }: { mayHaveRun: boolean; cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'RedisUnavailable';
    this.mayHaveRun = mayHaveRun;
  }
}
