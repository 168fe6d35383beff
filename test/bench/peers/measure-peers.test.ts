// Tests of peer measurements: results are available after each repetition, and an aborted repetition affects no other.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { measurePeers, type PeerResult } from '../../../bench/peers/measure-peers.ts';
import type { Peer } from '../../../bench/peers/peer.ts';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';

const load = { inFlight: [1, 2], seconds: 0.02, warmUpSeconds: 0.01, firstWarmUpSeconds: 0.01, repetitions: 2 };
const described = { title: 'a system', setup: '', durability: '', isSynced: false };
const backEnd = { pid: process.pid, url: '', countRequests: async () => 0 };

async function measureAll(...peers: Peer[]): Promise<(readonly PeerResult[])[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'peers-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const run = { stateDir, step: () => undefined, say: () => undefined, onEnd: () => undefined };
  const seen: (readonly PeerResult[])[] = [];
  for await (const results of measurePeers(run, backEnd, { ...load, peers })) seen.push(results);
  return seen;
}

/** Returns a system that responds like the back end. `failing` lists the starts that fail; the first start is 1. */
function peerThatFailsAt(name: string, ...failing: number[]): Peer & { starts: number } {
  const peer = {
    ...{ ...described, name, starts: 0 },
    async start(run: Parameters<Peer['start']>[0]) {
      peer.starts += 1;
      if (failing.includes(peer.starts)) throw new Error(`start ${peer.starts} failed`);
      const server = await listenOnLoopback(createServer((_request, response) => response.end('Fritz Lang')));
      run.onEnd(() => server.close());
      return { url: server.url, call: { path: '/' }, pids: [process.pid] };
    },
  };
  return peer;
}

it('yields the results after each repetition', async () => {
  const [first, second] = await measureAll(peerThatFailsAt('a'));
  for (const results of [first, second]) {
    expect(results?.[0]?.loads.map(({ inFlight }) => inFlight)).toEqual([1, 2]);
    expect(results?.[0]?.loads[0]?.figures.failures).toBe(0);
  }
});

it('keeps the other repetitions of a system when one is aborted', async () => {
  const [, results] = await measureAll(peerThatFailsAt('a', 2), peerThatFailsAt('b'));
  expect(results?.[0]?.loads).toHaveLength(2);
  expect(results?.map(({ notRun, brokenOff }) => [notRun, brokenOff])).toEqual([
    [undefined, ['start 2 failed']],
    [undefined, undefined],
  ]);
});

it('a system that cannot start is tried once', async () => {
  const peer = peerThatFailsAt('a', 1, 2);
  const [, results] = await measureAll(peer);
  expect(results?.[0]).toMatchObject({ loads: [], notRun: 'start 1 failed' });
  expect(peer.starts).toBe(1);
});
