// Telemetry of one execution for a waiting client: its stage times, its span and its outcome.

import type { IncomingMessage } from 'node:http';
import { contextOf, type RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { requestSpan } from '../../../gateway/plugin-api/request-span.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { ExecutionMetrics, ExecutionOutcome } from './execution-metrics.ts';
import { formatServerTiming, StageClock } from './stage-clock.ts';

/** The pinned workflow version of a request. */
export interface Pinned {
  readonly name: string;
  readonly version: number;
}

/** Dependencies of {@link ExecutionTelemetry}. */
export interface TelemetryDependencies {
  readonly metrics: ExecutionMetrics;
  readonly tracer: Tracer | undefined;
  /**
   * Scope of the clients that receive `Server-Timing`; undefined when no client receives it. Read for each response.
   */
  readonly timingScope: string | undefined;
}

/** Events of an execution from before its id was known to this router. Times are those of performance.now(). */
export interface EarlyEvents {
  readonly taskType: string;
  readonly handedOutAt: number;
  reportedAt?: number;
  backEndMs?: number | undefined;
}

/** Records the progress of one request from its arrival to its response. */
export class ExecutionTelemetry {
  readonly #dependencies: TelemetryDependencies;
  readonly #context: RequestContext;
  readonly #pinned: Pinned;
  readonly #clock: StageClock;
  #span: Span | undefined;
  readonly #traceparent: string | undefined;
  #startSpan: Span | undefined;
  #taskType = '';

  constructor(request: IncomingMessage, pinned: Pinned, dependencies: TelemetryDependencies) {
    const context = contextOf(request);
    this.#dependencies = dependencies;
    this.#context = context;
    this.#pinned = pinned;
    this.#clock = new StageClock(context.receivedAt ?? performance.now());
    const attributes = { 'conductor.workflow': pinned.name, 'conductor.workflow_version': pinned.version };
    this.#span =
      dependencies.tracer && requestSpan(request, dependencies.tracer).start(`execute ${pinned.name}`, { attributes });
    this.#traceparent = this.#span?.traceparent;
  }

  /** Trace context of the execution's tasks, for the envelope; undefined while tracing is off. */
  get traceparent(): string | undefined {
    return this.#traceparent;
  }

  /** Call it when the request enters admission control. */
  queued(): void {
    this.#clock.enter('queue', performance.now());
  }

  /** Call it when admission control has decided. */
  admitted(): void {
    this.#clock.enter('router', performance.now());
  }

  /** Call it just before the start call is sent to the engine. */
  starting(): void {
    this.#clock.enter('engine', performance.now());
    this.#startSpan = this.#span?.start(`start ${this.#pinned.name}`, { kind: 'client' });
  }

  /**
   * Call it when the engine has started the execution.
   * @param early events from before the execution's id was known
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
   * Records that a worker has reported the result of the task.
   * @param backEndMs time spent in the back end in milliseconds, as the worker reports it
   */
  reported(backEndMs: number | undefined, at = performance.now()): void {
    this.#clock.reported(at, backEndMs);
  }

  /**
   * Ends the wait and the span.
   * @param hasEnded whether the execution has ended
   * @param executionId undefined when the start has failed
   */
  ended(hasEnded: boolean, executionId?: string): void {
    const now = performance.now();
    // After a failed start no result was reported, so there is no span for a report.
    if (this.#clock.stage === 'engine' && this.#taskType !== '')
      this.#span?.start(`report ${this.#taskType}`, { kind: 'client', startedAt: this.#clock.stageStartedAt }).end();
    this.#clock.ended(now, hasEnded);
    this.close(now, executionId);
  }

  /**
   * Records the outcome. Call it once, before the response is sent.
   * @param executionId undefined when nothing was started
   * @returns the value of `Server-Timing` for a client that may see it; else undefined
   */
  responds(outcome: ExecutionOutcome, executionId: string | undefined): string | undefined {
    const { metrics, timingScope } = this.#dependencies;
    const { route, scopes } = this.#context;
    metrics.ended({ workflow: this.#pinned.name, version: this.#pinned.version, outcome });
    this.close();
    if (executionId === undefined) return undefined;
    const times = this.#clock.times(performance.now());
    metrics.took(route, times);
    return timingScope !== undefined && scopes?.has(timingScope) === true ? formatServerTiming(times) : undefined;
  }

  /** Ends the span; further calls do nothing. For a started execution, `ended` ends the span. */
  close(endedAt = performance.now(), executionId?: string): void {
    this.#span?.end({ endedAt, attributes: { 'conductor.execution_id': executionId } });
    this.#span = undefined;
  }

  /** Records that nothing was started, or that it is unknown whether something was started. Call it once. */
  failed(code: ProblemCode): void {
    this.#startSpan?.end({ error: code });
    this.ended(false);
    this.responds(code, undefined);
  }
}
