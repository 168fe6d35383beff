// Reads everything that the engine has written: every row of every table, and the bytes of its files.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

export interface EngineStore {
  /** Returns the content of each table as text. */
  tables(): Promise<Map<string, string>>;
  /**
   * Returns the database files by name; their free pages and write-ahead log still contain deleted data. The result
   * is empty when a database server keeps the files.
   */
  files(): Map<string, Buffer>;
}

/** Opens the embedded engine's database. @param stateDir state directory of the engine */
export function sqliteStore(stateDir: string): EngineStore {
  const path = join(stateDir, 'engine', 'conductor.db');
  return {
    async tables() {
      const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
      try {
        const names = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all();
        return new Map(names.map(({ name }) => [String(name), textOf(database, String(name))]));
      } finally {
        database.close();
      }
    },
    files() {
      const names = ['conductor.db', 'conductor.db-wal', 'conductor.db-journal'];
      const present = names.filter((name) => existsSync(join(stateDir, 'engine', name)));
      return new Map(present.map((name) => [name, readFileSync(join(stateDir, 'engine', name))]));
    },
  };
}

function textOf(database: DatabaseSync, table: string): string {
  const lines: string[] = [];
  for (const row of database.prepare(`SELECT * FROM "${table}"`).iterate()) {
    const cells = Object.values(row).map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString() : cell));
    lines.push(cells.map(String).join('\t'));
  }
  return lines.join('\n');
}

/** Opens a PostgreSQL database, which is read with psql. @param url `postgresql://…` */
export function postgresStore(url: string): EngineStore {
  const query = async (sql: string) => {
    const args = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', `--dbname=${url}`, `--command=${sql}`];
    return (await promisify(execFile)('psql', args, { maxBuffer: 2 ** 30 })).stdout;
  };
  return {
    async tables() {
      const names = (await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).trim().split('\n');
      const contents = new Map<string, string>();
      for (const name of names) contents.set(name, await query(`SELECT t::text FROM public."${name}" t`));
      return contents;
    },
    files: () => new Map(),
  };
}
