// Type declarations of ports.mjs.

/** A port of the stack. */
export interface StackPort {
  readonly port: number;
  /** Environment variable that sets the port. */
  readonly variable: string;
  /** The program that listens on the port. */
  readonly use: string;
  /** Address that the program listens on; default 127.0.0.1. */
  readonly host?: string;
  /** Configuration key of the address, when it can be set. */
  readonly hostKey?: 'router.host' | 'ops.host' | 'backends.host';
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

/** Returns a port that is currently free. @param host address that the program listens on; default 127.0.0.1 */
export function findFreePort(host?: string): Promise<number>;
