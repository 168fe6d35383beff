// The engine's own database, for the little that its API does not offer: records of events, and what it takes in bytes.

import { fileURLToPath } from 'node:url';

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

/** The URL is not one of the two kinds. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

/**
 * Opens it. The modules of a database are loaded only when it is one of their kind.
 * @param url `sqlite:<file>` or `postgresql://user:password@host:port/database`
 */
export async function openEngineDatabase(url: string): Promise<EngineDatabase> {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite.ts');
    return explained(await openSqlite(toPath(url)));
  }
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    const { openPostgresql } = await import('./postgresql.ts');
    return explained(await openPostgresql(url));
  }
  throw new DatabaseUrlError(
    'the engine database must be sqlite:<file> or postgresql://user:password@host:port/database',
  );
}

/** The same, and every error says whose it is: a driver's own message may be no more than an address. */
function explained(database: EngineDatabase): EngineDatabase {
  const explain =
    <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      call(...given).catch((error: Error) => {
        throw new Error(`the engine's database (${database.kind}): ${error.message}`, { cause: error });
      });
  return {
    kind: database.kind,
    readEvents: explain(database.readEvents),
    countEvents: explain(database.countEvents),
    removeEvents: explain(database.removeEvents),
    removeIndexRows: explain(database.removeIndexRows),
    usedBytes: explain(database.usedBytes),
    compact: explain(database.compact),
    close: explain(database.close),
  };
}

function toPath(url: string): string {
  return url.startsWith('sqlite:///') ? fileURLToPath(url.replace('sqlite:', 'file:')) : url.slice('sqlite:'.length);
}
