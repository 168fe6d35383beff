// What is asked of the engine's database, and what comes back: the same for every kind.

/** What became of one event at one handler (`EventExecution`). Nothing of its payload. */
export interface EventRecord {
  /** `<message id>_<number of the action>`. */
  readonly recordId: string;
  readonly handler: string;
  /** `conductor:college-adaptorWF:person_patched`. */
  readonly event: string;
  /** The id of the EVENT task that produced it. */
  readonly messageId: string;
  /** `COMPLETED`, `SKIPPED` (condition false), `FAILED`, or `IN_PROGRESS`: begun and never ended. */
  readonly state: string;
  /** RFC 3339. */
  readonly at: string;
  /** The execution that was started. */
  readonly started?: string;
  /** The condition that did not hold. */
  readonly condition?: string;
  /** Of a skipped event, as its payload says: the execution that produced it, its method and its answer. */
  readonly source?: string;
  readonly method?: string;
  readonly answered?: number;
  /** Why the action failed, in the engine's words. */
  readonly failure?: string;
}

export interface EventQuery {
  readonly handler?: string;
  readonly states?: readonly string[];
  /** Milliseconds since 1970. */
  readonly since?: number;
  /** The newest so many. */
  readonly limit: number;
}

/** @throws Error in the database's words from every call */
export interface EngineDatabase {
  readonly kind: 'SQLite' | 'PostgreSQL';
  /** Newest first. */
  readEvents(query: EventQuery): Promise<EventRecord[]>;
  /** Records of events that are older than this moment (milliseconds since 1970). */
  countEvents(before: number): Promise<number>;
  /** Deletes up to `limit` of them in one transaction; resolves with how many. */
  removeEvents(before: number, limit: number): Promise<number>;
  /** Deletes rows of the index whose execution is gone: a removal that was cut off leaves them. */
  removeIndexRows(executionIds: readonly string[]): Promise<number>;
  /** Bytes that hold data: without what is free for new rows. */
  usedBytes(): Promise<number>;
  /** Gives what deleted rows have left back to new rows, without waiting for the database's own time. */
  compact(): Promise<void>;
  close(): Promise<void>;
}
