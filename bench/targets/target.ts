// A target of the benchmark: something that processes requests, started while it is measured.

export interface Target {
  readonly name: string;
  /** Short description. */
  readonly text: string;
  /** True when its requests reach the engine. */
  readonly usesEngine: boolean;
  /** Starts what only this target needs, so that nothing of it disturbs the others. */
  start?(): Promise<void>;
  /** Sends one request. @throws Error that describes an unexpected response */
  request(): Promise<unknown>;
  /** The process that `start` started, when there is one: its processor time is the target's own. */
  pid?(): number | undefined;
  /** Ends what `start` started; `start` may be called again. */
  stop?(): Promise<void>;
}

/** The targets of `npm run bench`, in the order in which tables show them. */
export const targetNames = ['direct', 'proxy', 'floor', 'router', 'sdk-default', 'execute'] as const;
export type TargetName = (typeof targetNames)[number];
