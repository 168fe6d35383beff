// Accesses the engine's PostgreSQL database.

import postgres from 'postgres';
import type { EngineDatabase } from './database.ts';
import { readEventRecord } from './event-record.ts';

/** Timeouts: seconds for connecting, milliseconds for one statement. */
const connectSeconds = 5;
const statementMs = 60_000;

/** Returns a client that connects at the first call. @param url `postgresql://user:password@host:port/database` */
export async function openPostgresql(url: string): Promise<EngineDatabase> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: connectSeconds,
    connection: { application_name: 'service-router', statement_timeout: statementMs, lock_timeout: 5_000 },
    onnotice: () => undefined,
  });
  // Time of an event according to the engine's clock, in milliseconds. It is not read from `created_on`, because the
  // time zone of that column is unknown.
  const created = sql`substring(json_data, '"created":(\\d+)')::bigint`;
  // `created_on` serves only to exclude rows that are certainly too new; the margin of one day covers all time zones.
  const isOld = (before: number) =>
    sql`created_on < ${new Date(before + 86_400_000).toISOString()}::timestamp AND ${created} < ${before}`;
  return {
    kind: 'PostgreSQL',
    readEvents: async ({ handler, states, since, limit }) => {
      const rows = await sql<{ json_data: string }[]>`
        SELECT json_data FROM event_execution
        WHERE true
          ${handler === undefined ? sql`` : sql`AND event_handler_name = ${handler}`}
          ${since === undefined ? sql`` : sql`AND ${created} >= ${since}`}
          ${states === undefined ? sql`` : sql`AND substring(json_data, '"status":"([A-Z_]+)"') = ANY(${[...states]})`}
        ORDER BY ${created} DESC LIMIT ${limit}`;
      return rows.map((row) => readEventRecord(row.json_data));
    },
    countEvents: async (before) => {
      const [row] = await sql<{ count: string }[]>`SELECT count(*) FROM event_execution WHERE ${isOld(before)}`;
      return Number(row?.count ?? 0);
    },
    removeEvents: async (before, limit) => {
      const removed = await sql`
        DELETE FROM event_execution WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM event_execution WHERE ${isOld(before)} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
      return removed.count;
    },
    removeIndexRows: async (ids) => {
      const removed = await sql`
        DELETE FROM workflow_index AS row WHERE row.workflow_id = ANY(${[...ids]})
          AND NOT EXISTS (SELECT FROM workflow WHERE workflow.workflow_id = row.workflow_id)`;
      return removed.count;
    },
    usedBytes: async () => {
      const [row] = await sql<{ bytes: string }[]>`SELECT pg_database_size(current_database()) AS bytes`;
      return Number(row?.bytes ?? 0);
    },
    compact: async () => void (await sql`VACUUM`),
    close: () => sql.end({ timeout: 5 }),
  };
}
