// The engine's own database, for the little that its API does not offer: records of events, and what it takes in bytes.

import { fileURLToPath } from 'node:url';
import type { EngineDatabase } from './database.ts';

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
