// What happened to an execution, in the order in which it happened: tasks, waits, attempts, workers, and what failed.

import type { ExecutedTask, WholeExecution } from './execution-api.ts';

/** One attempt of a task. Times are milliseconds. */
export interface TimelineStep {
  readonly task: string;
  readonly type: string;
  readonly state: string;
  /** From 1. */
  readonly attempt: number;
  /** How often a worker has taken it; more than once: it was given back or taken again. */
  readonly polls: number;
  /** When it was put into its queue, after the start of the execution. */
  readonly scheduledAfterMs: number;
  /** From the queue into the hands of a worker; absent for what no worker has taken yet, or never takes. */
  readonly waitedMs?: number;
  /** In the hands of a worker, or of the engine itself; absent while it goes on. */
  readonly tookMs?: number;
  readonly worker?: string;
  /** Absent: the default pool. */
  readonly domain?: string;
  /** Task that waits for its next try, in seconds from its last report. */
  readonly nextTryAfterSeconds?: number;
  /** Why it did not complete, as the engine keeps it: it can hold what a worker of somebody else's wrote. */
  readonly reason?: string;
}

export interface Timeline {
  readonly steps: readonly TimelineStep[];
  /** From start to end, or up to `now` while it runs. */
  readonly totalMs: number;
  /** The tasks that failed, each once. */
  readonly failed: readonly string[];
  /** What it waits for now; absent when it has ended, or when the engine has nothing open. */
  readonly waitsFor?: string;
}

/** Of tasks that the engine does by itself. */
const engineTasks: readonly string[] = [
  'EVENT',
  'SWITCH',
  'DECISION',
  'DO_WHILE',
  'FORK',
  'JOIN',
  'SET_VARIABLE',
  'TERMINATE',
];
const failedStates: readonly string[] = ['FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'TIMED_OUT'];

/** @param now milliseconds since 1970 */
export function timelineOf(execution: WholeExecution, now: number): Timeline {
  const { tasks, startTime, endTime } = execution;
  const ordered = tasks.toSorted((one, other) => (one.scheduledTime ?? 0) - (other.scheduledTime ?? 0));
  const open = ordered.find(({ status }) => status === 'SCHEDULED' || status === 'IN_PROGRESS');
  const running = execution.status === 'RUNNING' || execution.status === 'PAUSED';
  return {
    steps: ordered.map((task) => toStep(task, startTime)),
    totalMs: Math.max(0, (endTime > 0 && !running ? endTime : now) - startTime),
    failed: [...new Set(ordered.filter(({ status }) => failedStates.includes(status)).map(nameOf))],
    ...(running && open !== undefined ? { waitsFor: describeWait(open, now) } : {}),
  };
}

function toStep(task: ExecutedTask, startedAt: number): TimelineStep {
  const { scheduledTime = 0, startTime = 0, endTime = 0, pollCount = 0, workerId, domain } = task;
  // The result of a task that was handed over names no poll: all of its time is the worker's and the queue's together.
  const takenAt = startTime > 0 ? startTime : 0;
  return {
    task: nameOf(task),
    type: task.taskType,
    state: task.status,
    attempt: (task.retryCount ?? 0) + 1,
    polls: pollCount,
    scheduledAfterMs: Math.max(0, scheduledTime - startedAt),
    ...(takenAt > 0 && !engineTasks.includes(task.taskType) ? { waitedMs: Math.max(0, takenAt - scheduledTime) } : {}),
    ...(endTime > 0 ? { tookMs: Math.max(0, endTime - (takenAt > 0 ? takenAt : scheduledTime)) } : {}),
    ...(workerId === undefined || workerId === '' ? {} : { worker: workerId }),
    ...(domain === undefined || domain === '' ? {} : { domain }),
    ...nextTry(task),
    ...(task.reasonForIncompletion === undefined ? {} : { reason: task.reasonForIncompletion }),
  };
}

function nextTry({ status, callbackAfterSeconds = 0, pollCount = 0 }: ExecutedTask): Partial<TimelineStep> {
  const waits = (status === 'IN_PROGRESS' || status === 'SCHEDULED') && callbackAfterSeconds > 0 && pollCount > 0;
  return waits ? { nextTryAfterSeconds: callbackAfterSeconds } : {};
}

function describeWait(task: ExecutedTask, now: number): string {
  const { status, startTime = 0, scheduledTime = 0, updateTime = 0, domain, callbackAfterSeconds = 0 } = task;
  const pool = domain === undefined || domain === '' ? '' : ` in domain ${domain}`;
  const since = (time: number) => `${Math.max(0, Math.round((now - time) / 1_000))} s`;
  if (callbackAfterSeconds > 0 && (task.pollCount ?? 0) > 0) {
    return `the next try of ${nameOf(task)}${pool}, ${callbackAfterSeconds} s after the last one (${since(updateTime)} ago)`;
  }
  if (status === 'SCHEDULED') return `a worker that takes ${nameOf(task)}${pool}, for ${since(scheduledTime)}`;
  return `the result of ${nameOf(task)}${pool}, for ${since(Math.max(startTime, updateTime))}`;
}

function nameOf({ referenceTaskName }: ExecutedTask): string {
  return referenceTaskName;
}
