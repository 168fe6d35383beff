// One execution and the client that waits for it, from the start to the answer: its times, its span, its outcome.

import type { Request, Response } from 'express';
import { contextOf, type ExecutionEnding, type RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { requestSpan } from '../../../gateway/plugin-api/request-span.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { ExecutionMetrics, ExecutionOutcome } from './execution-metrics.ts';
import { formatServerTiming, StageClock } from './stage-clock.ts';

/** The pinned definition. */
export interface Pinned {
  readonly name: string;
  readonly version: number;
  /** Told once how the execution ended for its client; of what was never to be started it is not told. @param ms since the head of the request */
  readonly ended?: (ending: ExecutionEnding, ms: number) => void;
}

export interface TelemetryDependencies {
  readonly metrics: ExecutionMetrics;
  readonly tracer: Tracer | undefined;
  /** Scope whose clients are told the times, asked for each answer; undefined = nobody is. */
  readonly timingScope: string | undefined;
}

/** What happened to an execution before its id was known here. */
export interface EarlyEvents {
  readonly taskType: string;
  readonly handedOutAt: number;
  reportedAt?: number;
  backEndMs?: number | undefined;
}

export class ExecutionTelemetry {
  readonly #parts: TelemetryDependencies;
  readonly #context: RequestContext;
  readonly #pinned: Pinned;
  readonly #clock: StageClock;
  readonly #span: Span | undefined;
  #startSpan: Span | undefined;
  #taskType = '';
  #wasToStart = false;
  #isOver = false;

  constructor(request: Request, pinned: Pinned, parts: TelemetryDependencies) {
    const now = performance.now();
    const context = contextOf(request);
    const arrivedAt = context.arrivedAt ?? now;
    this.#parts = parts;
    this.#context = context;
    this.#pinned = pinned;
    this.#clock = new StageClock(context.receivedAt ?? arrivedAt);
    this.#clock.enter('queue', arrivedAt);
    this.#clock.enter('router', now);
    const attributes = { 'conductor.workflow': pinned.name, 'conductor.workflow_version': pinned.version };
    this.#span = parts.tracer && requestSpan(request, parts.tracer).start(`execute ${pinned.name}`, { attributes });
  }

  /** What the execution's tasks belong to; goes into the envelope. Undefined while tracing is off. */
  get traceparent(): string | undefined {
    return this.#span?.traceparent;
  }

  /** The start is sent to the engine now. */
  starting(): void {
    this.#clock.enter('engine', performance.now());
    this.#wasToStart = true;
    this.#startSpan = this.#span?.start(`start ${this.#pinned.name}`, { kind: 'client' });
  }

  /** The engine has started it. @param early what was seen of it before that was known */
  started(early: EarlyEvents | undefined): void {
    this.#startSpan?.end();
    this.#startSpan = undefined;
    if (early === undefined) return this.#clock.enter('queue', performance.now());
    this.#clock.enter('queue', early.handedOutAt);
    this.handedOut(early.taskType, early.handedOutAt);
    if (early.reportedAt !== undefined) this.reported(early.backEndMs, early.reportedAt);
  }

  /** A task of it has left for a worker. */
  handedOut(taskType: string, at = performance.now()): void {
    this.#taskType = taskType;
    this.#span?.start(`queue ${taskType}`, { startedAt: this.#clock.since }).end({ endedAt: at });
    this.#clock.handedOut(at);
  }

  /** The result of that task has come. */
  reported(backEndMs: number | undefined, at = performance.now()): void {
    this.#clock.reported(at, backEndMs);
  }

  /** Nobody waits any more. @param hasEnded whether the execution is over */
  ended(hasEnded: boolean): void {
    const now = performance.now();
    // Nothing is reported of a start that failed.
    if (this.#clock.stage === 'engine' && this.#taskType !== '')
      this.#span?.start(`report ${this.#taskType}`, { kind: 'client', startedAt: this.#clock.since }).end();
    this.#clock.ended(now, hasEnded);
    this.#span?.end({ endedAt: now, attributes: { 'conductor.execution_id': this.#context.executionId } });
  }

  /**
   * The answer is about to leave. Call it once, or once more when it could not.
   * @param status that of the back end's answer
   */
  answered(response: Response, outcome: ExecutionOutcome, status?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (outcome !== 'deferred') this.settled(endingOf(outcome, status));
    const { metrics, timingScope } = this.#parts;
    const { route, scopes, executionId } = this.#context;
    metrics.ended({ workflow: this.#pinned.name, version: this.#pinned.version, outcome });
    if (executionId === undefined) return;
    const times = this.#clock.times(performance.now());
    metrics.took(route, times);
    const isTold = timingScope !== undefined && scopes?.has(timingScope) === true;
    if (isTold && !response.headersSent) response.setHeader('server-timing', formatServerTiming(times));
  }

  /** How the execution ended is known: with the answer, or later. */
  settled(ending: ExecutionEnding): void {
    const { receivedAt, arrivedAt } = this.#context;
    const now = performance.now();
    if (this.#wasToStart) this.#pinned.ended?.(ending, now - (receivedAt ?? arrivedAt ?? now));
  }

  /** It came to nothing: the answer will be a problem document. */
  failed(response: Response, error: unknown): void {
    const code = error instanceof Problem ? error.code : 'internal-error';
    this.#startSpan?.end({ error: code });
    if (this.#clock.stage !== 'router') this.ended(false);
    this.answered(response, code);
  }
}

function endingOf(outcome: Exclude<ExecutionOutcome, 'deferred'>, status: number | undefined): ExecutionEnding {
  if (outcome === 'answered') return { problem: undefined, status, clientGone: false };
  if (outcome === 'client-gone') return { problem: undefined, clientGone: true };
  return { problem: outcome, clientGone: false };
}
