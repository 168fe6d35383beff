// Type declarations of ports.mjs.

/** A port of the stack, on 127.0.0.1. */
export interface StackPort {
  readonly port: number;
  /** Environment variable that sets the port. */
  readonly variable: string;
  /** The program that listens on the port. */
  readonly use: string;
}

/** Every port of `npm start` with its default. The port is not used when the configuration key in `unless` is set. */
export const stackPorts: readonly (StackPort & {
  readonly key: 'router.port' | 'ops.port' | 'conductor.port' | 'idp.port' | 'backends.port';
  readonly unless?: 'conductor.url' | 'oauth.issuer';
})[];

/** Returns the ports that are known without loading the configuration, which needs installed packages. */
export function knownPorts(root: string, env: NodeJS.ProcessEnv): StackPort[];

/**
 * Checks the ports.
 * @returns one line for each port that is taken, cannot be used or is set twice
 */
export function findTakenPorts(ports: readonly StackPort[]): Promise<string[]>;

/** Returns a port that is currently free. */
export function findFreePort(): Promise<number>;
