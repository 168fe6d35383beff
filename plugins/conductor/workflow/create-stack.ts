// Creates the stack of the workflow policy: the layers through which a request passes on its way to an execution.

import type { Admission } from '../admission/admission.ts';
import type { BackEnds } from '../admission/back-ends.ts';
import { type CompressOptions } from '../execution/compress-response.ts';
import type { IdempotentStart } from '../idempotency/idempotent-start.ts';
import type { TelemetryIndex } from '../telemetry/telemetry-index.ts';
import type { Layer, Serve } from './execution-request.ts';
import { admit } from './layers/admit.ts';
import { compress } from './layers/compress.ts';
import { countOutcomes } from './layers/count-outcomes.ts';
import { judgeVersions } from './layers/judge-versions.ts';
import { startInTime } from './layers/start-in-time.ts';
import { startAndWait, type StartDependencies } from './layers/start-and-wait.ts';
import { startOnce } from './layers/start-once.ts';
import { trace } from './layers/trace.ts';

/** Dependencies of the layers. */
export interface StackDependencies extends StartDependencies {
  readonly admission: Admission;
  readonly backEnds: BackEnds;
  readonly idempotentStart: IdempotentStart;
  readonly telemetry: TelemetryIndex;
}

/** The parameters of a route that its layers depend on. */
export interface StackOptions {
  readonly workflow: string;
  /** Path parameter that selects the back end of the route; undefined when the route has one back end. */
  readonly backEndOf: string | undefined;
  /** Path parameter that selects the task domain. */
  readonly domainOf: string | undefined;
  /** Undefined when responses are not compressed. */
  readonly compress: CompressOptions | undefined;
}

/**
 * Creates the stack of a route. A request passes through the layers from top to bottom, and its outcome from bottom to
 * top. The order matters: a repeated request takes no permit, because it starts no execution. A permit is released
 * before the response is compressed. The time for a start is checked after the admission queue. Only requests that were
 * sent to the engine count for the version guard.
 */
export function createStack(options: StackOptions, dependencies: StackDependencies): Serve {
  const layers: readonly Layer[] = [
    countOutcomes(),
    compress(options.compress),
    startOnce(options, dependencies),
    admit(options, dependencies),
    startInTime(dependencies),
    judgeVersions(dependencies),
  ];
  return layers.reduceRight((next, layer) => layer(next), trace(startAndWait(options, dependencies), dependencies));
}
