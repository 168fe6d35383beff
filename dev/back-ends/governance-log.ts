// MDM's governance log: notifications and results of shares with their responses. Each delivery is logged once.

import type { SQLInputValue } from 'node:sqlite';
import { parseRecord, type Store } from './store.ts';

/** `notification`: a college changed a person · `share`: the result of sharing the change with a college. */
export type EntryKind = 'notification' | 'share';

/** Identifies a delivery. */
export interface EntryKey {
  readonly kind: EntryKind;
  readonly executionId: string;
  readonly misCode: string;
  readonly sisPersonId: string;
  readonly status: string;
  /** Null when the delivery has no cccid. */
  readonly cccid: string | null;
}

/** The result of logging a delivery. */
export interface LoggedDelivery<T> {
  /** The response of the first delivery. */
  readonly response: T;
  /** False for a repeated delivery. */
  readonly isNew: boolean;
}

/** Filters for log entries; absent filters match every entry. */
export interface LogQuery {
  readonly executionId?: string | undefined;
  readonly sisPersonId?: string | undefined;
}

/**
 * Logs a delivery, or returns the stored response when the delivery is repeated.
 * @param content the delivery as received
 * @param work applies the delivery and returns the response; called for the first delivery only
 */
export function logOnce<T>(
  store: Store,
  key: EntryKey,
  { content, work }: { content: object; work: () => T },
): LoggedDelivery<T> {
  return store.transaction(() => {
    const earlier = store.get(...findSql(key));
    if (earlier !== undefined) return { response: parseRecord<T>(earlier, 'answer'), isNew: false };
    const response = work();
    const { kind, executionId, misCode, sisPersonId, status } = key;
    const row = [kind, executionId, misCode, sisPersonId, status, new Date().toISOString()] as const;
    store.run(
      `INSERT INTO governance_log (kind, execution_id, mis, sis_person_id, status, recorded_at, content, answer)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...row,
      JSON.stringify(content),
      JSON.stringify(response),
    );
    return { response, isNew: true };
  });
}

/** Returns entries in log order. Each is the delivery with `entryId`, `kind`, `status` and `recordedAt` added. */
export function findEntries(store: Store, { executionId, sisPersonId }: LogQuery): object[] {
  const rows = store.all(
    `SELECT * FROM governance_log
     WHERE (?1 IS NULL OR execution_id = ?1) AND (?2 IS NULL OR sis_person_id = ?2) ORDER BY id`,
    executionId ?? null,
    sisPersonId ?? null,
  );
  return rows.map((row) => ({
    ...parseRecord<object>(row, 'content'),
    entryId: row['id'],
    kind: row['kind'],
    status: row['status'],
    recordedAt: row['recorded_at'],
  }));
}

/** The key includes person, status and cccid, because entries of one execution may differ only in these. */
function findSql({ kind, executionId, misCode, sisPersonId, status, cccid }: EntryKey): [string, ...SQLInputValue[]] {
  const sql = `SELECT answer FROM governance_log WHERE kind = ? AND execution_id = ? AND mis = ? AND sis_person_id = ?
    AND status = ? AND json_extract(content, '$.cccid') IS ?`;
  return [sql, kind, executionId, misCode, sisPersonId, status, cccid];
}
