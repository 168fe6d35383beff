// Accesses the engine's SQLite database (with Node's driver) while the engine writes to it.

import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { EngineDatabase, EventQuery } from './database.ts';
import { readEventRecord } from './event-record.ts';

/** Busy timeout in milliseconds. The engine's own busy timeout is 15 s. */
const busyMs = 10_000;

/** Opens a database. @throws Error when the file does not exist; the file is never created */
export async function openSqlite(file: string): Promise<EngineDatabase> {
  if (!existsSync(file)) throw new Error(`there is no SQLite file ${file}`);
  const database = new DatabaseSync(file, { timeout: busyMs });
  // This is also the engine's setting: in WAL mode, a power failure may lose the last commits but does not corrupt the
  // file.
  database.exec('PRAGMA synchronous=NORMAL');
  const run = (sql: string, ...values: SQLInputValue[]) => Number(database.prepare(sql).run(...values).changes);
  const number = (sql: string, ...values: SQLInputValue[]) =>
    Number(Object.values(database.prepare(sql).get(...values) ?? { none: 0 })[0]);
  return {
    kind: 'SQLite',
    readEvents: async (query) => {
      const { sql, values } = select(query);
      return database
        .prepare(sql)
        .all(...values)
        .map((row) => readEventRecord(String(row['json_data'])));
    },
    countEvents: async (before) => number('SELECT count(*) FROM event_execution WHERE created_on < ?', toText(before)),
    removeEvents: async (before, limit) =>
      run(
        'DELETE FROM event_execution WHERE rowid IN (SELECT rowid FROM event_execution WHERE created_on < ? LIMIT ?)',
        toText(before),
        limit,
      ),
    removeIndexRows: async (ids) =>
      ids.length === 0
        ? 0
        : run(
            `DELETE FROM workflow_index WHERE workflow_id IN (${ids.map(() => '?').join(',')})
              AND workflow_id NOT IN (SELECT workflow_id FROM workflow)`,
            ...ids,
          ),
    usedBytes: async () => (number('PRAGMA page_count') - number('PRAGMA freelist_count')) * number('PRAGMA page_size'),
    // SQLite reuses free pages at once.
    compact: async () => undefined,
    close: async () => database.close(),
  };
}

function select({ handler, states, since, limit }: EventQuery): { sql: string; values: SQLInputValue[] } {
  const conditions: [sql: string, values: SQLInputValue[]][] = [];
  if (handler !== undefined) conditions.push(['event_handler_name = ?', [handler]]);
  if (since !== undefined) conditions.push(['created_on >= ?', [toText(since)]]);
  if (states !== undefined) {
    conditions.push([`json_extract(json_data, '$.status') IN (${states.map(() => '?').join(',')})`, [...states]]);
  }
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.map(([sql]) => sql).join(' AND ')}`;
  return {
    sql: `SELECT json_data FROM event_execution${where} ORDER BY created_on DESC, rowid DESC LIMIT ?`,
    values: [...conditions.flatMap(([, values]) => values), limit],
  };
}

/** Formats a time like CURRENT_TIMESTAMP: in UTC and whole seconds. */
function toText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
