// MDM's governance log: what was told to MDM and what came of it, each delivery once.

import type { SQLInputValue } from 'node:sqlite';
import { parseRecord, type Store } from './store.ts';

/** `notification`: a college changed a person · `share`: what became of passing the change on. */
export type EntryKind = 'notification' | 'share';

export interface EntryKey {
  readonly kind: EntryKind;
  readonly executionId: string;
  readonly misCode: string;
  readonly sisPersonId: string;
  readonly status: string;
  /** Null when it is about something else. */
  readonly cccid: string | null;
}

export interface LoggedDelivery<T> {
  readonly response: T;
  /** False when it had been logged before: `answer` is the one of then. */
  readonly isNew: boolean;
}

/** What to look for; absent = anything. */
export interface LogQuery {
  readonly executionId?: string | undefined;
  readonly sisPersonId?: string | undefined;
}

/**
 * Logs a delivery, or finds the answer it was given before.
 * @param content the delivery as it arrived
 * @param work what the delivery causes, done once; its result is the answer that is kept
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

/** Entries in the order they were logged: each is its delivery, plus `entryId`, `kind`, `status`, `recordedAt`. */
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

/** One execution may share with several persons, bring one a newer cccid, and fail before it succeeds. */
function findSql({ kind, executionId, misCode, sisPersonId, status, cccid }: EntryKey): [string, ...SQLInputValue[]] {
  const sql = `SELECT answer FROM governance_log WHERE kind = ? AND execution_id = ? AND mis = ? AND sis_person_id = ?
    AND status = ? AND json_extract(content, '$.cccid') IS ?`;
  return [sql, kind, executionId, misCode, sisPersonId, status, cccid];
}
