// Stores execution records in Redis for engines without an index: one record for each execution, and one for each write
// whose start is not confirmed yet.
//
// Keys, after the prefix: `executions` (hash: execution id → record), `started` and `open` (sorted sets of ids by start
// time), `ended` (sorted by the time at which the end was recorded), `starts` (unconfirmed starts of writes, by time),
// and `correlation:<id>` (ids and unconfirmed starts by time; expires).

import { randomUUID } from 'node:crypto';
import { NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { Redis } from '#lib/redis/redis.ts';
import type { RedisClient, RedisCommand } from '#lib/redis/redis-command.ts';
import type { ReportDropped } from './report-dropped.ts';
import { endScript, forgetScript, putScript, startScript } from './scripts.ts';

/** A record. It contains no payload and no personal data. */
export interface ExecutionRecord {
  readonly workflow: string;
  /** Absent when the router has seen only a task of the execution. */
  readonly version?: number;
  readonly correlationId?: string;
  /** Method, route and client of the request; absent for an execution that an event has started. */
  readonly method?: string;
  readonly route?: string;
  readonly clientId?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Absent until the end of the execution is recorded. */
  readonly status?: WorkflowStatus;
  /**
   * Time at which the end of the execution was recorded. It is never before the end itself, so a reader that pages by
   * this time does not miss an execution whose end is recorded late.
   */
  readonly endedAt?: number;
}

/** A record with the id of its execution. */
export interface RecordedExecution extends ExecutionRecord {
  readonly executionId: string;
}

/** A record to add, and how to add it. */
export interface NewRecord {
  readonly record: RecordedExecution;
  /**
   * True when the execution has just been found to be open. If the record contains an end, that end is outdated,
   * because the execution has been retried since.
   */
  readonly reopens: boolean;
  /** Whether anything looks for the execution by its correlation id; false for a read without an Idempotency-Key. */
  readonly isLookedUp: boolean;
}

/** An unconfirmed start of a write, which was sent to the engine or was about to be sent. */
export interface UnconfirmedStart {
  readonly token: string;
  readonly workflow: string;
  readonly correlationId: string;
  readonly startedAt: number;
}

/** The sorted sets that can be read in ranges. */
export type RecordSet = 'started' | 'open' | 'ended';

/** A range of a sorted set: the first `count` ids between two times (exclusive), oldest or newest first. */
export interface RecordRange {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly isNewestFirst?: boolean;
  readonly count: number;
}

/** The contents of a range. */
export interface RecordChunk {
  /** The records in the order of the set, without records that were removed in the meantime. */
  readonly records: readonly RecordedExecution[];
  /** Every id of the range, with its time in the set. */
  readonly entries: readonly { readonly executionId: string; readonly time: number }[];
}

/** Options of {@link ExecutionRecords}. */
export interface RecordOptions {
  readonly keyPrefix: string;
  /**
   * Maximum number of records; unlimited when absent. Beyond it, the record of the execution that ended first is
   * dropped or, if none has ended, the record of the execution that started first. One call drops at most ten records,
   * and never the record that it adds.
   */
  readonly maxRecords?: number | undefined;
  /** Called when records are dropped. */
  readonly onDropped?: ReportDropped | undefined;
  /**
   * How long executions can be found by correlation id, in milliseconds. This property is read again for each record.
   */
  readonly correlationTtlMs: number;
}

/** Prefix that distinguishes an unconfirmed start from the execution ids of the same correlation id. */
const startMark = 'start:';

/** The execution records in Redis. Every method throws RedisUnavailable during an outage, unless it says otherwise. */
export class ExecutionRecords {
  readonly #redis: Redis;
  readonly #options: RecordOptions;

  constructor(redis: Redis, options: RecordOptions) {
    this.#redis = redis;
    this.#options = options;
  }

  /** Records that a write is about to start, and returns the token of the record. */
  async addStart(start: Omit<UnconfirmedStart, 'token' | 'startedAt'>): Promise<string> {
    const token = `${startMark}${randomUUID()}`;
    const keys = [this.#key('starts'), this.#correlationKey(start.correlationId)];
    const values = [token, memberOf({ ...start, token }), String(Date.now()), this.#ttl];
    await this.#redis.run((client) => client.eval(startScript, { keys, arguments: values }));
    return token;
  }

  /** Removes the record of a start that had no effect or is confirmed. Never rejects. */
  removeStart(start: Omit<UnconfirmedStart, 'startedAt'>): Promise<void> {
    return this.#redis.runEventually(async (client) => {
      await client.zRem(this.#key('starts'), memberOf(start));
      await client.zRem(this.#correlationKey(start.correlationId), start.token);
    });
  }

  /**
   * Records an execution. If the execution is already recorded, its record stays; with `reopens`, the recorded end is
   * removed. Never rejects: during an outage, the command runs once Redis responds again.
   * @param start the unconfirmed start of the execution; the record of this start is removed
   */
  put(added: NewRecord, start?: Omit<UnconfirmedStart, 'startedAt'>): Promise<void> {
    return this.#redis.runEventually(this.#putCommand(added, start), () => this.#options.onDropped?.('redis', 1));
  }

  /** Records an execution like {@link put}, but rejects during an outage instead of postponing the command. */
  putNow(added: NewRecord): Promise<void> {
    return this.#redis.run(this.#putCommand(added));
  }

  #putCommand(
    { record, reopens, isLookedUp }: NewRecord,
    start?: Omit<UnconfirmedStart, 'startedAt'>,
  ): RedisCommand<void> {
    const { executionId, ...value } = record;
    const { keyPrefix, maxRecords = 0, onDropped } = this.#options;
    const keys = [
      ...['executions', 'started', 'open', 'ended', 'starts'].map((name) => this.#key(name)),
      ...(isLookedUp && record.correlationId !== undefined ? [this.#correlationKey(record.correlationId)] : []),
    ];
    const values = [
      ...[executionId, JSON.stringify(value), record.startedAt, maxRecords, this.#ttl, keyPrefix].map(String),
      reopens ? '1' : '0',
      ...(start === undefined ? [] : [memberOf(start), start.token]),
    ];
    return async (client) => {
      const dropped = Number(await client.eval(putScript, { keys, arguments: values }));
      if (dropped > 0) onDropped?.('limit', dropped);
    };
  }

  /**
   * Records the end of an execution. Never rejects: during an outage, the command runs once Redis responds again. If
   * the command is dropped, a search for open executions or the prune job detects the end.
   */
  putEnd(executionId: string, status: WorkflowStatus): Promise<void> {
    return this.#redis.runEventually((client) => this.#runEnd(client, executionId, status));
  }

  /**
   * Records the end of an execution without postponing the command during an outage.
   * @returns false when the same end is already recorded or there is no record
   */
  async correctEnd(executionId: string, status: WorkflowStatus): Promise<boolean> {
    return (await this.#redis.run((client) => this.#runEnd(client, executionId, status))) === 1;
  }

  /** Removes records. */
  async forget(executionIds: readonly string[]): Promise<void> {
    if (executionIds.length === 0) return;
    const keys = ['executions', 'started', 'open', 'ended'].map((name) => this.#key(name));
    const values = [this.#options.keyPrefix, ...executionIds];
    await this.#redis.run((client) => client.eval(forgetScript, { keys, arguments: values }));
  }

  /** Returns a range of a sorted set, in its order. */
  async range(set: RecordSet, range: RecordRange): Promise<RecordChunk> {
    const found = await this.#redis.run((client) => rangeOf(client, this.#key(set), range));
    const entries = found.map(({ value, score }) => ({ executionId: value, time: score }));
    return { records: await this.#read(entries.map(({ executionId }) => executionId)), entries };
  }

  /** Returns the ids that are not recorded as open executions. */
  async notOpen(executionIds: readonly string[]): Promise<string[]> {
    if (executionIds.length === 0) return [];
    const scores = await this.#redis.run((client) => client.zmScore(this.#key('open'), [...executionIds]));
    return executionIds.filter((_, index) => scores[index] === null);
  }

  /**
   * Returns the ids of the executions with these correlation ids, oldest first for each correlation id, and whether any
   * start is unconfirmed.
   * @param startedAfter only executions that started after this time (milliseconds since 1970); default: all
   */
  async correlated(
    correlationIds: readonly string[],
    startedAfter = 0,
  ): Promise<{ executionIds: string[]; hasStart: boolean }> {
    const lists = await Promise.all(
      correlationIds.map((id) =>
        this.#redis.run((client) => client.zRangeByScore(this.#correlationKey(id), `(${startedAfter}`, '+inf')),
      ),
    );
    const members = lists.flat();
    const executionIds = members.filter((member) => !member.startsWith(startMark));
    return { executionIds, hasStart: executionIds.length < members.length };
  }

  /** Returns the oldest unconfirmed starts up to a time: at most 1,000, oldest first. */
  async starts(before: number): Promise<UnconfirmedStart[]> {
    const found = await this.#redis.run((client) =>
      client.zRangeWithScores(this.#key('starts'), 0, before, { BY: 'SCORE', LIMIT: { offset: 0, count: 1_000 } }),
    );
    return found.map(({ value, score }) => ({
      ...(JSON.parse(value) as Omit<UnconfirmedStart, 'startedAt'>),
      startedAt: score,
    }));
  }

  #runEnd(client: RedisClient, executionId: string, status: WorkflowStatus): Promise<unknown> {
    const keys = ['executions', 'open', 'ended'].map((name) => this.#key(name));
    // `Date.now()` is read when the command runs, because an outage may have postponed the command.
    return client.eval(endScript, { keys, arguments: [executionId, status, String(Date.now())] });
  }

  async #read(executionIds: readonly string[]): Promise<RecordedExecution[]> {
    if (executionIds.length === 0) return [];
    const records = await this.#redis.run((client) => client.hmGet(this.#key('executions'), [...executionIds]));
    return records.flatMap((record, index) =>
      record === null
        ? []
        : [{ executionId: executionIds[index] as string, ...(JSON.parse(record) as ExecutionRecord) }],
    );
  }

  get #ttl(): string {
    return String(this.#options.correlationTtlMs);
  }

  #key(name: string): string {
    return `${this.#options.keyPrefix}${name}`;
  }

  #correlationKey(correlationId: string): string {
    return this.#key(`correlation:${correlationId}`);
  }
}

function rangeOf(
  client: RedisClient,
  key: string,
  { after, before, isNewestFirst = false, count }: RecordRange,
): Promise<{ value: string; score: number }[]> {
  const from = after === undefined ? '-inf' : `(${after}`;
  const to = before === undefined ? '+inf' : `(${before}`;
  const limit = { BY: 'SCORE', LIMIT: { offset: 0, count } } as const;
  return isNewestFirst
    ? client.zRangeWithScores(key, to, from, { ...limit, REV: true })
    : client.zRangeWithScores(key, from, to, limit);
}

/** Returns the error for a call that needs the records while Redis does not respond. */
export function recordsUnavailable(cause: unknown): NoExecutionIndex {
  return new NoExecutionIndex('Redis, which has the records of executions, does not respond', cause);
}

/** Returns the text that represents a start in the set of starts. */
function memberOf({ workflow, correlationId, token }: Omit<UnconfirmedStart, 'startedAt'>): string {
  return JSON.stringify({ workflow, correlationId, token });
}
