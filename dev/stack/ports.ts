// Looks whether ports are free before anything is started.

import { type AddressInfo, createServer } from 'node:net';

/** A port of the stack, on 127.0.0.1. */
export interface StackPort {
  readonly port: number;
  /** The environment variable that sets it. */
  readonly variable: string;
  /** What is to listen there. */
  readonly use: string;
}

/**
 * One line for each port that is taken, or that two programs are to have.
 * @returns nothing when all are free
 */
export async function findTakenPorts(ports: readonly StackPort[]): Promise<string[]> {
  const lines = await Promise.all(
    ports.map(async ({ port, variable, use }, index) => {
      const earlier = ports.slice(0, index).find((other) => other.port === port);
      if (earlier) return `Port ${port} is set for both ${earlier.use} (${earlier.variable}) and ${use} (${variable}).`;
      if (await isFree(port)) return undefined;
      return `Port ${port} (${use}) is taken: set ${variable} to another one.`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** A port that is free now. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
