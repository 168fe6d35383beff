// A part of the cluster that can be killed and started again, whatever kind of process it is.

export interface Component {
  /** As the table shows it: `engine 1`. */
  readonly name: string;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again where it was; resolves when it works. */
  start(): Promise<void>;
  /** What it wrote since its last start, when that is not in a file of the run's directory. */
  output?(): string;
}
