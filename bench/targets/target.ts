// A target of the benchmark: a system that processes requests. Programs that only this target needs are started
// before it is measured and stopped afterwards.

export interface Target {
  readonly name: string;
  /** Short description. */
  readonly text: string;
  /** True when the requests of the target reach the engine. */
  readonly usesEngine: boolean;
  /** Starts the programs that only this target needs. Called just before the target is measured. */
  start?(): Promise<void>;
  /** Sends one request. @throws Error that describes an unexpected response */
  request(): Promise<unknown>;
  /** Id of the process that `start` started, if any; its CPU time is attributed to the target. */
  pid?(): number | undefined;
  /** Stops the programs that `start` started; `start` may then be called again. */
  stop?(): Promise<void>;
}

/** The targets of `npm run bench`, in the order in which tables show them. */
export const targetNames = ['direct', 'proxy', 'floor', 'router', 'sdk-default', 'execute'] as const;
export type TargetName = (typeof targetNames)[number];
