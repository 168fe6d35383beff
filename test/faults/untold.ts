// Reports the state of PATCHes of which MDM was not notified, from the engine, its queue and the reconcilers' logs.

import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { loadConfig } from '#lib/config/load.ts';
import { Engine } from '#lib/conductor/engine.ts';
import type { EngineRequest } from '#lib/conductor/send-call.ts';
import { openExecutions } from '#lib/records/open-executions.ts';
import type { RedisServer } from '../stack/redis-server.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { notifyWorkflow, patchWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { WrittenText } from './check-history.ts';
import type { Violation } from './violation.ts';
import type { GivenEngine } from './engine.ts';
import type { AnyEvent } from './history.ts';

export interface UntoldSources {
  readonly engine: GivenEngine;
  /** The routers' Redis, which contains their records of executions when the engine has no index. */
  readonly redis: RedisServer | undefined;
  readonly events: readonly AnyEvent[];
  /** Output of the processes. */
  readonly texts: readonly WrittenText[];
}

/** Maximum number of PATCHes that are described; each takes several calls. */
const mostDescribed = 20;

/** Returns one line for each PATCH among the violations. */
export async function describeUntold(violations: readonly Violation[], sources: UntoldSources): Promise<string[]> {
  const client = new Engine({ url: sources.engine.url, timeoutMs: 10_000, connections: 1 });
  const { config } = await loadConfig({ env: sources.redis === undefined ? {} : { REDIS_URL: sources.redis.url } });
  const call = (request: EngineRequest) => client.request(request);
  const { api, close } = await openExecutions(call, config, { log: createLog('faults', 'silent') });
  const lines: string[] = [];
  for (const { subject } of violations) {
    const executionId = executionOf(subject, sources.events);
    if (executionId === undefined || lines.length >= mostDescribed) continue;
    const what = await describe(api, executionId, sources).catch((error: Error) => error.message);
    lines.push(`${subject} ${executionId}: ${what}`);
  }
  await close();
  await client.close();
  return lines;
}

/** Returns the execution that the response to a request names. */
function executionOf(op: string, events: readonly AnyEvent[]): string | undefined {
  const ends = events.filter((event) => event.actor === 'client' && event.event === 'answer' && event.op === op);
  return ends.flatMap((end) => ('executionId' in end && end.executionId !== undefined ? [end.executionId] : [])).at(-1);
}

async function describe(api: ExecutionApi, executionId: string, { engine, texts }: UntoldSources): Promise<string> {
  const execution = await api.readWhole(executionId);
  if (execution === null) return 'the engine has no such execution';
  const notifications = await api.correlated(notifyWorkflow, executionId, { includeTasks: true });
  const rows = await api.search({ correlationIds: [executionId] }, { offset: 0, size: 20 });
  const indexed = rows.executions.map(({ workflowType, status }) => `${workflowType} ${status}`);
  const event = execution.tasks.find(({ taskType }) => taskType === 'EVENT');
  return [
    stateOf(execution),
    notifications.length === 0 ? `no ${notifyWorkflow}` : notifications.map(stateOf).join(' and '),
    `index: ${[await indexedState(api, execution), ...indexed].join(', ')}`,
    event === undefined ? 'no event' : `event: ${await eventState(event.taskId, engine)}`,
    `reconcilers: ${lastLineAbout(executionId, texts) ?? 'no line'}`,
  ].join('; ');
}

function stateOf({ workflowName, status, endTime, reasonForIncompletion, tasks }: WholeExecution): string {
  const steps = tasks.map(
    (task) => `${task.referenceTaskName} ${task.status}${task.retried === true ? ' retried' : ''}`,
  );
  const end = endTime > 0 ? ` at ${new Date(endTime).toISOString()}` : '';
  const reason = reasonForIncompletion === undefined ? '' : `, ${reasonForIncompletion}`;
  return `${workflowName} ${status}${end}${reason} (${steps.join(', ') || 'no task'})`;
}

async function indexedState(api: ExecutionApi, { startTime, workflowId }: WholeExecution): Promise<string> {
  const query = { workflowType: patchWorkflow, startedAfter: startTime - 1, startedBefore: startTime + 1 };
  const { executions } = await api.search(query, { offset: 0, size: 500 });
  const row = executions.find((each) => each.workflowId === workflowId);
  return row === undefined
    ? 'no row'
    : `this execution ${row.status}, ${row.endTime === undefined ? 'no end time' : `ended at ${row.endTime}`}`;
}

/**
 * Finds the message of an EVENT task and the actions of its handler in the database, because the engine's API returns
 * neither.
 */
async function eventState(messageId: string, { databaseFile, databaseUrl, redis }: GivenEngine): Promise<string> {
  if (redis !== undefined) return queuedIn(redis, messageId);
  const sql = (table: string, fields: string) => `SELECT ${fields} FROM ${table} WHERE message_id = '${messageId}'`;
  const queued = sql('queue_message', "'queued, popped ' || popped || ', deliver_on ' || deliver_on");
  const handled = sql('event_execution', 'json_data');
  const statements = [queued, handled];
  const found =
    databaseUrl === undefined
      ? queryFile(databaseFile ?? '', statements)
      : await Promise.all(statements.map((statement) => queryServer(databaseUrl, statement)));
  const [message = '', handling = ''] = found;
  const status = /"status":"(\w+)"/.exec(handling)?.[1];
  return `${message || 'not queued'}, handler ${status ?? 'not run'}`;
}

/** Finds the queue of a message. On Redis, the engine keeps no record of what its event handler did. */
async function queuedIn(redis: RedisServer, messageId: string): Promise<string> {
  const keys = (await redis.command('KEYS', '*queues*')) as string[];
  for (const key of keys) {
    if ((await redis.command('TYPE', key)) !== 'zset') continue;
    const score = await redis.command('ZSCORE', key, messageId);
    if (score !== null) return `queued in ${key}, score ${String(score)}`;
  }
  return 'not queued';
}

function queryFile(file: string, statements: readonly string[]): string[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    return statements.map((statement) => String(Object.values(database.prepare(statement).get() ?? {})[0] ?? ''));
  } finally {
    database.close();
  }
}

async function queryServer(jdbcUrl: string, statement: string): Promise<string> {
  const url = jdbcUrl.replace(/^jdbc:postgresql:\/\//, 'postgresql://postgres@');
  const { stdout } = await promisify(execFile)('psql', ['-qtAX', `--dbname=${url}`, `--command=${statement}`]);
  return stdout.trim();
}

/** Returns the last line that a reconciler logged about an execution. */
function lastLineAbout(executionId: string, texts: readonly WrittenText[]): string | undefined {
  const lines = texts.flatMap(({ text }) => text.split('\n'));
  return lines.findLast((line) => line.includes(executionId) && line.includes('"reconcile finding"'));
}
