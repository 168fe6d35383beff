// The real Redis of the tests, where the machine has one.

import { connect } from 'node:net';

export const redisUrl = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379';

/** Whether something listens there; what needs it is skipped otherwise. */
export function isRedisThere(): Promise<boolean> {
  const { hostname, port } = new URL(redisUrl);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
