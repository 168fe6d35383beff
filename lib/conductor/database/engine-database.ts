// Opens the engine's database, for data that the engine's API does not provide: event records and the size of the data.

import { fileURLToPath } from 'node:url';
import type { EngineDatabase } from './database.ts';

/** Thrown when the URL is that of neither a SQLite nor a PostgreSQL database. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

/**
 * Opens the database. The driver is loaded on demand.
 * @param url `sqlite:<file>` or `postgresql://user:password@host:port/database`
 * @throws DatabaseUrlError for any other URL, Error when a SQLite file does not exist
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

/** Adds the kind of database to every error message, because a driver's message may be only an address. */
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
