// Telemetry of one execution for a waiting client: its stage times, its span and its outcome.

import type { Request, Response } from 'express';
import { contextOf, type ExecutionEnding, type RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { requestSpan } from '../../../gateway/plugin-api/request-span.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { ExecutionMetrics, ExecutionOutcome } from './execution-metrics.ts';
import { formatServerTiming, StageClock } from './stage-clock.ts';

/** The pinned workflow version of a request. */
export interface Pinned {
  readonly name: string;
  readonly version: number;
  /**
   * Called once with the outcome of the execution for its client; not called when no start was sent.
   * @param ms milliseconds since the head of the request arrived
   */
  readonly ended?: (ending: ExecutionEnding, ms: number) => void;
}

/** What {@link ExecutionTelemetry} works with. */
export interface TelemetryDependencies {
  readonly metrics: ExecutionMetrics;
  readonly tracer: Tracer | undefined;
  /** Scope whose clients receive `Server-Timing`, read for each response; undefined when no client does. */
  readonly timingScope: string | undefined;
}

/** Events of an execution before its id was known here. Times are those of performance.now(). */
export interface EarlyEvents {
  readonly taskType: string;
  readonly handedOutAt: number;
  reportedAt?: number;
  backEndMs?: number | undefined;
}

/** Records the way of one request from its arrival to its response. */
export class ExecutionTelemetry {
  readonly #dependencies: TelemetryDependencies;
  readonly #context: RequestContext;
  readonly #pinned: Pinned;
  readonly #clock: StageClock;
  readonly #span: Span | undefined;
  #startSpan: Span | undefined;
  #taskType = '';
  #startWasSent = false;
  #isResponseSent = false;

  constructor(request: Request, pinned: Pinned, dependencies: TelemetryDependencies) {
    const now = performance.now();
    const context = contextOf(request);
    const arrivedAt = context.arrivedAt ?? now;
    this.#dependencies = dependencies;
    this.#context = context;
    this.#pinned = pinned;
    this.#clock = new StageClock(context.receivedAt ?? arrivedAt);
    this.#clock.enter('queue', arrivedAt);
    this.#clock.enter('router', now);
    const attributes = { 'conductor.workflow': pinned.name, 'conductor.workflow_version': pinned.version };
    this.#span =
      dependencies.tracer && requestSpan(request, dependencies.tracer).start(`execute ${pinned.name}`, { attributes });
  }

  /** Trace context of the execution's tasks, for the envelope; undefined while tracing is off. */
  get traceparent(): string | undefined {
    return this.#span?.traceparent;
  }

  /** Call it when the start is about to be sent to the engine. */
  starting(): void {
    this.#clock.enter('engine', performance.now());
    this.#startWasSent = true;
    this.#startSpan = this.#span?.start(`start ${this.#pinned.name}`, { kind: 'client' });
  }

  /**
   * Call it when the engine has started the execution.
   * @param early events from before its id was known
   */
  started(early: EarlyEvents | undefined): void {
    this.#startSpan?.end();
    this.#startSpan = undefined;
    if (early === undefined) return this.#clock.enter('queue', performance.now());
    this.#clock.enter('queue', early.handedOutAt);
    this.handedOut(early.taskType, early.handedOutAt);
    if (early.reportedAt !== undefined) this.reported(early.backEndMs, early.reportedAt);
  }

  /** Notes that a task of the execution was handed to a worker. */
  handedOut(taskType: string, at = performance.now()): void {
    this.#taskType = taskType;
    this.#span?.start(`queue ${taskType}`, { startedAt: this.#clock.stageStartedAt }).end({ endedAt: at });
    this.#clock.handedOut(at);
  }

  /**
   * Notes that the result of that task was reported.
   * @param backEndMs time of the back end in milliseconds, as the worker reports it
   */
  reported(backEndMs: number | undefined, at = performance.now()): void {
    this.#clock.reported(at, backEndMs);
  }

  /**
   * Ends the wait and the span.
   * @param hasEnded whether the execution has ended
   */
  ended(hasEnded: boolean): void {
    const now = performance.now();
    // After a failed start there is no report.
    if (this.#clock.stage === 'engine' && this.#taskType !== '')
      this.#span?.start(`report ${this.#taskType}`, { kind: 'client', startedAt: this.#clock.stageStartedAt }).end();
    this.#clock.ended(now, hasEnded);
    this.#span?.end({ endedAt: now, attributes: { 'conductor.execution_id': this.#context.executionId } });
  }

  /**
   * Records the outcome and adds `Server-Timing`. Call it before the response is sent; further calls do nothing.
   * @param status status of the back end's response
   */
  answered(response: Response, outcome: ExecutionOutcome, status?: number): void {
    if (this.#isResponseSent) return;
    this.#isResponseSent = true;
    if (outcome !== 'deferred') this.settled(endingOf(outcome, status));
    const { metrics, timingScope } = this.#dependencies;
    const { route, scopes, executionId } = this.#context;
    metrics.ended({ workflow: this.#pinned.name, version: this.#pinned.version, outcome });
    if (executionId === undefined) return;
    const times = this.#clock.times(performance.now());
    metrics.took(route, times);
    const mayReceiveTimes = timingScope !== undefined && scopes?.has(timingScope) === true;
    if (mayReceiveTimes && !response.headersSent) response.setHeader('server-timing', formatServerTiming(times));
  }

  /** Passes the outcome of the execution on. It is known with the response, or later behind a 202. */
  settled(ending: ExecutionEnding): void {
    const { receivedAt, arrivedAt } = this.#context;
    const now = performance.now();
    if (this.#startWasSent) this.#pinned.ended?.(ending, now - (receivedAt ?? arrivedAt ?? now));
  }

  /** Records a failure: the response will be a problem document. */
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
