// Tests of an aborted run: its findings say why it was aborted, and nothing that it started affects the next case.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { seededRandom } from '../stack/seeded-random.ts';
import type { Case } from './cases/case.ts';
import type { FaultEngine } from './engine.ts';
import { runCase, type RunOptions } from './run-case.ts';
import { hasHeld } from './results.ts';

const chosen: Case = { name: 'a-case', tries: 1, tryOnce: async () => undefined };
const options: RunOptions = {
  ...{ tries: 1, seconds: 1, slack: 1, load: 1, random: seededRandom('1'), say: () => undefined },
  topology: { store: 'sqlite', engines: 1, routers: 2 },
  product: 'aaaaaaaaaaaa',
  circumstances: {
    ...{ date: '2030-01-01T00:00:00Z', commit: 'abc1234', node: 'v24', engine: 'Conductor' },
    ...{ busyBefore: 0, loadAverage: 1 },
    machine: { cores: 2, processor: 'A processor', memoryGiB: 8, system: 'Linux' },
  },
  keepFailure: () => undefined,
};

/** Starts a server that has one task definition. */
async function startEngine() {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.setHeader('connection', 'close');
    response.end(JSON.stringify([{ name: 'a-task', responseTimeoutSeconds: 8 }]));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const engine = { kind: 'sqlite', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } as FaultEngine;
  return { engine, kill: () => new Promise((resolve) => server.close(resolve)) };
}

it('aborts the run and reports the planned topology when the engine cannot be started', async () => {
  const start = () => Promise.reject(new Error('mount: permission denied'));
  const findings = await runCase(chosen, start, options);
  expect(findings).toMatchObject({ case: 'a-case', brokeOff: 'mount: permission denied', tries: 0 });
  expect(findings.topology).toEqual(options.topology);
  expect(hasHeld(findings)).toBe(false);
});

it('reports both errors and stops everything else when the engine dies and the clean-up fails', async () => {
  const { engine, kill } = await startEngine();
  const stopped: string[] = [];
  const dying: Case = {
    ...chosen,
    async setUp() {
      await kill();
      return {
        router: {
          get FAILS(): string {
            throw new Error('no router');
          },
        },
        tearDown() {
          stopped.push('servers of the case');
          throw new Error('no such server');
        },
      };
    },
  };
  const { brokeOff } = await runCase(dying, async () => engine, options);
  expect(brokeOff).toMatch(/^no router; .*no such server; .*(ECONNREFUSED|fetch failed)/);
  expect(stopped).toEqual(['servers of the case']);
});
