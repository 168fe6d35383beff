// Types of ports.mjs.

/** A port of the stack, on 127.0.0.1. */
export interface StackPort {
  readonly port: number;
  /** The environment variable that sets it. */
  readonly variable: string;
  /** What is to listen there. */
  readonly use: string;
}

/** Every port of `npm start`, with its default; with the key `unless` set, nothing listens there. */
export const stackPorts: readonly (StackPort & {
  readonly key: 'router.port' | 'ops.port' | 'conductor.port' | 'idp.port' | 'backends.port';
  readonly unless?: 'conductor.url' | 'oauth.issuer';
})[];

/** The ports that are known without the configuration, which only installed packages can read. */
export function knownPorts(root: string, env: NodeJS.ProcessEnv): StackPort[];

/**
 * One line for each port that is taken, or that two programs are to have.
 * @returns nothing when all are free
 */
export function findTakenPorts(ports: readonly StackPort[]): Promise<string[]>;

/** A port that is free now. */
export function findFreePort(): Promise<number>;
