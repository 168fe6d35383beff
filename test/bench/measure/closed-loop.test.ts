// Tests of the closed loop: it keeps a constant number of requests in flight, ends when it should, and counts failures.

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runClosedLoop } from '../../../bench/measure/closed-loop.ts';

/** A server that responds after 1 ms and records the number of concurrent requests. */
function countingServer() {
  const server = {
    now: 0,
    most: 0,
    served: 0,
    async request() {
      server.now += 1;
      server.most = Math.max(server.most, server.now);
      await delay(1);
      server.now -= 1;
      server.served += 1;
    },
  };
  return server;
}

describe('a closed loop', () => {
  it('has exactly as many requests in flight as it has clients', async () => {
    const server = countingServer();
    await runClosedLoop({ inFlight: 5, seconds: 0.05, request: server.request });
    expect(server.most).toBe(5);
  });

  it('with a limit on requests, sends exactly that many and waits for the last response', async () => {
    const server = countingServer();
    const sample = await runClosedLoop({ inFlight: 3, seconds: 60, requests: 10, request: server.request });
    expect(server).toMatchObject({ served: 10, now: 0 });
    expect(sample.latencies).toHaveLength(10);
    expect(sample.latencies).toEqual([...sample.latencies].sort((a, b) => a - b));
  });

  it('counts failed requests, keeps the first error, and continues', async () => {
    let sent = 0;
    const request = async () => {
      sent += 1;
      if (sent < 3) throw new Error(`failure ${sent}`);
    };
    const sample = await runClosedLoop({ inFlight: 1, seconds: 60, requests: 4, request });
    expect(sample).toMatchObject({ failures: 2, firstFailure: 'failure 1' });
    expect(sample.latencies).toHaveLength(2);
  });
});
