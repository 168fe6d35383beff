// The stand-ins' database: one SQLite file, seeded when it is created.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';

/** Version of the tables and the seed; must be incremented with every change to them. */
const version = 1;

const tables = `
  CREATE TABLE terms (mis TEXT, sis_term_id TEXT, record TEXT NOT NULL, PRIMARY KEY (mis, sis_term_id)) STRICT;
  CREATE TABLE sections (
    mis TEXT, sis_term_id TEXT, sis_section_id TEXT, sis_course_id TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (mis, sis_term_id, sis_section_id)) STRICT;
  CREATE TABLE persons (
    mis TEXT, sis_person_id TEXT, cccid TEXT, record TEXT NOT NULL,
    PRIMARY KEY (mis, sis_person_id), UNIQUE (mis, cccid)) STRICT;
  CREATE TABLE person_writes (
    id INTEGER PRIMARY KEY, mis TEXT NOT NULL, sis_person_id TEXT NOT NULL, method TEXT NOT NULL, idempotency_key TEXT,
    written_at TEXT NOT NULL) STRICT;
  CREATE TABLE idempotency_keys (
    mis TEXT, idempotency_key TEXT, fingerprint TEXT NOT NULL, answer TEXT NOT NULL, received INTEGER NOT NULL,
    PRIMARY KEY (mis, idempotency_key)) STRICT;
  CREATE TABLE syncs (college_id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
  CREATE TABLE movies (title_key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
  CREATE TABLE interested_systems (mis TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
  CREATE TABLE golden_records (
    golden_id TEXT PRIMARY KEY, cccid TEXT, source_mis TEXT, updated_at TEXT NOT NULL) STRICT;
  CREATE TABLE crosswalk (
    mis TEXT, sis_person_id TEXT, golden_id TEXT NOT NULL REFERENCES golden_records, PRIMARY KEY (mis, sis_person_id),
    UNIQUE (golden_id, mis)) STRICT;
  CREATE TABLE governance_log (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, execution_id TEXT NOT NULL, mis TEXT NOT NULL,
    sis_person_id TEXT NOT NULL, status TEXT NOT NULL, recorded_at TEXT NOT NULL, content TEXT NOT NULL,
    answer TEXT NOT NULL) STRICT;
`;

type Row = Record<string, SQLOutputValue>;

/** A synchronous SQL database. Statements take `?` parameters. */
export interface Store {
  all(sql: string, ...parameters: SQLInputValue[]): Row[];
  get(sql: string, ...parameters: SQLInputValue[]): Row | undefined;
  run(sql: string, ...parameters: SQLInputValue[]): void;
  /** Runs `work` in a transaction; rolls back when it throws. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/**
 * Opens `<stateDir>/back-ends.sqlite`.
 * @param seed fills a new database
 * @throws Error when another version of the stand-ins created the file
 */
export function openStore(stateDir: string, seed: (store: Store) => void): Store {
  mkdirSync(stateDir, { recursive: true });
  const path = join(stateDir, 'back-ends.sqlite');
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
    const store = createStore(database);
    const found = store.get('PRAGMA user_version')?.['user_version'];
    if (found === 0) {
      store.transaction(() => {
        database.exec(tables);
        seed(store);
        database.exec(`PRAGMA user_version = ${version}`);
      });
    } else if (found !== version) throw new Error(`${path} is from another version: delete it to start over`);
    return store;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns the parsed JSON document in a text column. */
export function parseRecord<T>(row: Row, column = 'record'): T {
  return JSON.parse(String(row[column])) as T;
}

function createStore(database: DatabaseSync): Store {
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    all: (sql, ...parameters) => prepare(sql).all(...parameters),
    get: (sql, ...parameters) => prepare(sql).get(...parameters),
    run: (sql, ...parameters) => void prepare(sql).run(...parameters),
    transaction(work) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        database.exec('COMMIT');
        return result;
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => database.close(),
  };
}
