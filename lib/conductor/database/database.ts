// Defines the interface to the engine's database, for SQLite and PostgreSQL.

/** The record of one event for one handler (`EventExecution`), without the payload. */
export interface EventRecord {
  /** `<message id>_<number of the action>`. */
  readonly recordId: string;
  readonly handler: string;
  /** For example `conductor:college-adaptorWF:person_patched`. */
  readonly event: string;
  /** Id of the EVENT task that produced the event. */
  readonly messageId: string;
  /** `COMPLETED`, `SKIPPED` (condition false), `FAILED`, or `IN_PROGRESS` (started and not completed). */
  readonly state: string;
  /** Time of the event (RFC 3339). */
  readonly at: string;
  /** Id of the started execution. */
  readonly started?: string;
  /** The condition that was false. */
  readonly condition?: string;
  /** Source execution id, HTTP method and status code of the response, from the payload; only for skipped events. */
  readonly source?: string;
  readonly method?: string;
  readonly responseStatus?: number;
  /** The engine's reason for a failed action. */
  readonly failure?: string;
}

/** Criteria of a search for event records; all must hold. */
export interface EventQuery {
  readonly handler?: string;
  readonly states?: readonly string[];
  /** Milliseconds since 1970. */
  readonly since?: number;
  /** Maximum number of records; the newest are returned. */
  readonly limit: number;
}

/** The engine's database. Every call throws an Error with the database's message on failure. */
export interface EngineDatabase {
  readonly kind: 'SQLite' | 'PostgreSQL';
  /** Returns event records, newest first. */
  readEvents(query: EventQuery): Promise<EventRecord[]>;
  /** Returns the number of event records created before this time (milliseconds since 1970). */
  countEvents(before: number): Promise<number>;
  /**
   * Deletes up to `limit` event records created before this time, in one transaction; returns the number of deleted
   * records.
   */
  removeEvents(before: number, limit: number): Promise<number>;
  /** Deletes the index rows with these ids whose execution does not exist; returns the number of deleted rows. */
  removeIndexRows(executionIds: readonly string[]): Promise<number>;
  /** Returns the size of the data in bytes; on SQLite, free pages are not counted. */
  usedBytes(): Promise<number>;
  /** Makes the space of deleted rows available to new rows now (PostgreSQL's VACUUM). */
  compact(): Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
}
