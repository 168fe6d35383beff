// Builds the timeline of an execution: its tasks in order, with queue times, attempts, workers and failures.

import { isDirectDomain, poolDomain } from './direct-domain.ts';
import type { ExecutedTask, WholeExecution } from './execution.ts';
import { hasEnded } from './has-ended.ts';

/** One attempt of a task. Durations are in milliseconds. */
export interface TimelineStep {
  readonly task: string;
  readonly type: string;
  readonly state: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Number of polls that returned this attempt; more than one when the task was postponed or redelivered. */
  readonly polls: number;
  /** Time from the start of the execution until the task was queued. */
  readonly scheduledAfterMs: number;
  /** Time in the queue; absent for a task without a poll time, and for tasks of the engine itself. */
  readonly waitedMs?: number;
  /** Duration of the task at the worker or in the engine; absent while the task is running. */
  readonly tookMs?: number;
  readonly worker?: string;
  /** Task domain; absent for the default pool. */
  readonly domain?: string;
  /** Delay before the next try in seconds, from the last report of a worker. */
  readonly nextTryAfterSeconds?: number;
  /** Reason why the task did not complete, from the engine. It may contain text from third-party workers. */
  readonly reason?: string;
}

/** The attempts of an execution's tasks, with what the execution is waiting for. */
export interface Timeline {
  readonly steps: readonly TimelineStep[];
  /** Duration from start to end, or to `now` while the execution is running. */
  readonly totalMs: number;
  /** Names of the failed tasks, without duplicates. */
  readonly failed: readonly string[];
  /** Description of what the execution is waiting for; absent when it has ended or has no open task. */
  readonly waitsFor?: string;
}

/** Types of tasks that the engine executes itself. */
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

/** Returns the timeline of an execution. @param now milliseconds since 1970 */
export function timelineOf(execution: WholeExecution, now: number): Timeline {
  const { tasks, startTime, endTime } = execution;
  const ordered = tasks.toSorted((one, other) => (one.scheduledTime ?? 0) - (other.scheduledTime ?? 0));
  const open = ordered.find(({ status }) => status === 'SCHEDULED' || status === 'IN_PROGRESS');
  const running = !hasEnded(execution);
  return {
    steps: ordered.map((task) => toStep(task, startTime)),
    totalMs: Math.max(0, (endTime > 0 && !running ? endTime : now) - startTime),
    failed: [...new Set(ordered.filter(({ status }) => failedStates.includes(status)).map(nameOf))],
    ...(running && open !== undefined ? { waitsFor: describeWait(open, now) } : {}),
  };
}

function toStep(task: ExecutedTask, startedAt: number): TimelineStep {
  const { scheduledTime = 0, startTime = 0, endTime = 0, pollCount = 0, workerId } = task;
  const domain = poolDomain(task.domain);
  // A directly dispatched task has no poll time, so its duration includes the time in the queue.
  const polledAt = startTime > 0 ? startTime : 0;
  return {
    task: nameOf(task),
    type: task.taskType,
    state: task.status,
    attempt: (task.retryCount ?? 0) + 1,
    polls: pollCount,
    scheduledAfterMs: Math.max(0, scheduledTime - startedAt),
    ...(polledAt > 0 && !engineTasks.includes(task.taskType)
      ? { waitedMs: Math.max(0, polledAt - scheduledTime) }
      : {}),
    ...(endTime > 0 ? { tookMs: Math.max(0, endTime - (polledAt > 0 ? polledAt : scheduledTime)) } : {}),
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
  const { status, startTime = 0, scheduledTime = 0, updateTime = 0, callbackAfterSeconds = 0 } = task;
  const domain = poolDomain(task.domain);
  const pool = domain === undefined || domain === '' ? '' : ` in domain ${domain}`;
  const since = (time: number) => `${Math.max(0, Math.round((now - time) / 1_000))} s`;
  if (callbackAfterSeconds > 0 && (task.pollCount ?? 0) > 0) {
    return `the next try of ${nameOf(task)}${pool}, ${callbackAfterSeconds} s after the last one (${since(updateTime)} ago)`;
  }
  // Only the router that dispatched the task knows whether a worker has it.
  if (status === 'SCHEDULED' && isDirectDomain(task.domain))
    return `the result of ${nameOf(task)}${pool}, dispatched directly ${since(scheduledTime)} ago`;
  if (status === 'SCHEDULED') return `a worker to take ${nameOf(task)}${pool} (${since(scheduledTime)} so far)`;
  return `the result of ${nameOf(task)}${pool} (${since(Math.max(startTime, updateTime))} so far)`;
}

function nameOf({ referenceTaskName }: ExecutedTask): string {
  return referenceTaskName;
}
