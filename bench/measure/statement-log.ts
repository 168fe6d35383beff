// Counts SQL statements and transactions by phase, from the log of a PostgreSQL server with log_statement=all.

/** Settings with which the server logs every statement, without the parameters. */
export const logSettings = {
  log_statement: 'all',
  log_line_prefix: '%n %p ',
  log_parameter_max_length: '0',
} as const;

/** An executed statement. */
export interface Statement {
  /** Unix time in seconds. */
  readonly at: number;
  /** Process id of the server's session. */
  readonly session: string;
  /** Text with parameters as `$1`, on one line. */
  readonly text: string;
}

/** Totals of a phase over all its occurrences. */
export interface PhaseCounts {
  seconds: number;
  /** Committed transactions, including statements outside a transaction block. */
  commits: number;
  /** Number of executions by text, without BEGIN, COMMIT and ROLLBACK. */
  readonly statements: Map<string, number>;
}

const entry = /^(\d+\.\d+) (\d+) ([A-Z]+): {2}(.*)$/;
const executed = /^(?:statement|execute [^:]*): (.*)$/s;
const marker = /^SELECT 'phase ([^']*)'/;

/** Returns a statement that begins a phase and reads the write-ahead log position and the next transaction id. */
export function phaseMarker(phase: string): string {
  const wal = `pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal`;
  return `SELECT 'phase ${phase}', ${wal}, pg_snapshot_xmax(pg_current_snapshot())::text AS transactions`;
}

/** Returns the statements in the log of a server with {@link logSettings}. */
export function parseStatements(log: string): Statement[] {
  const entries: { at: number; session: string; level: string; text: string }[] = [];
  for (const line of log.split('\n')) {
    const [, at, session, level, text] = entry.exec(line) ?? [];
    if (at !== undefined && session !== undefined && level !== undefined && text !== undefined) {
      entries.push({ at: Number(at), session, level, text });
    } else if (line.startsWith('\t')) {
      // A continuation line of a statement.
      const last = entries.at(-1);
      if (last !== undefined) last.text += `\n${line}`;
    }
  }
  return entries.flatMap(({ at, session, level, text }) => {
    const statement = level === 'LOG' ? executed.exec(text)?.[1] : undefined;
    return statement === undefined ? [] : [{ at, session, text: statement.replace(/\s+/g, ' ').trim() }];
  });
}

/** Counts the statements of each phase. A phase lasts from its {@link phaseMarker} to the next one and may recur. */
export function countByPhase(statements: readonly Statement[]): Map<string, PhaseCounts> {
  const phases = new Map<string, PhaseCounts>();
  const inTransaction = new Set<string>();
  let current: { counts: PhaseCounts; since: number } | undefined;
  for (const { at, session, text } of statements) {
    const phase = marker.exec(text)?.[1];
    if (phase !== undefined) {
      if (current !== undefined) current.counts.seconds += at - current.since;
      const counts = phases.get(phase) ?? { seconds: 0, commits: 0, statements: new Map<string, number>() };
      phases.set(phase, counts);
      current = { counts, since: at };
    } else if (text === 'BEGIN') {
      inTransaction.add(session);
    } else {
      const endsTransaction = text === 'COMMIT' || text === 'ROLLBACK';
      if (current !== undefined && !endsTransaction) {
        current.counts.statements.set(text, (current.counts.statements.get(text) ?? 0) + 1);
      }
      if (current !== undefined && (text === 'COMMIT' || (!endsTransaction && !inTransaction.has(session))))
        current.counts.commits++;
      if (endsTransaction) inTransaction.delete(session);
    }
  }
  return phases;
}
