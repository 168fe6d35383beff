// Zeebe: a broker with its embedded gateway, whose REST API receives the requests, and a job worker on a gRPC stream.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { dirname, join } from 'node:path';
import { findJava } from '../../dev/engine/find-java.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import type { Run } from '../run.ts';
import type { Peer } from './peer.ts';
import { startPeerProgram, startServer } from './servers.ts';
import { installZeebe, zeebeVersion } from './zeebe-install.ts';

/** A BPMN process with one service task between its start and its end. */
const definition = `<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="bench" targetNamespace="urn:bench">
  <bpmn:process id="movies" isExecutable="true">
    <bpmn:startEvent id="start" />
    <bpmn:sequenceFlow id="to-task" sourceRef="start" targetRef="fetch" />
    <bpmn:serviceTask id="fetch">
      <bpmn:extensionElements><zeebe:taskDefinition type="movies" /></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="to-end" sourceRef="fetch" targetRef="end" />
    <bpmn:endEvent id="end" />
  </bpmn:process>
</bpmn:definitions>`;

const body = JSON.stringify({
  ...{ processDefinitionId: 'movies', awaitCompletion: true, fetchVariables: ['movie'], requestTimeout: 60_000 },
  variables: { title: 'Metropolis' },
});
const call = { method: 'POST', path: '/v2/process-instances', body } as const;

/** @param fsync false: Zeebe's delayed flush, with the kernel's default writeback interval (30 s) */
export function zeebe({ fsync }: { fsync: boolean }): Peer {
  return {
    name: fsync ? 'zeebe' : 'zeebe-no-fsync',
    title: fsync ? 'Zeebe' : 'Zeebe, no fsync',
    setup: `Zeebe ${zeebeVersion}, one broker and partition, job streaming, backpressure with a fixed limit of 1,000${fsync ? '' : ', `raft.flush.delayTime=30s`'}`,
    isSynced: fsync,
    durability: fsync ? 'start, step, result: fsync' : 'start, step, result: file, no fsync',
    async start(run, { backEndUrl }) {
      const broker = await startBroker(run, fsync);
      await deploy(broker.url);
      const env = { BENCH_BACK_END: backEndUrl, BENCH_GATEWAY: broker.gateway };
      const worker = await startPeerProgram(run, 'zeebe-worker', env);
      await untilFirstResponse(broker.url);
      return { url: broker.url, call, pids: [broker.pid, worker.pid] };
    },
  };
}

async function startBroker(run: Run, fsync: boolean) {
  const { java } = await findJava({ minMajor: 21 });
  if (java === undefined) throw new Error('Zeebe needs Java 21 or newer, which was not found');
  const home = await installZeebe(run, java);
  const [rest, gateway, command, internal, management] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findUdpPort(),
    await findFreePort(),
  ];
  const url = `http://127.0.0.1:${rest}`;
  const pid = await startServer(run, {
    name: 'zeebe',
    command: join(home, 'bin/broker'),
    env: {
      JAVA_HOME: dirname(dirname(java.command)),
      // Logs warnings and errors only.
      ZEEBE_LOG_LEVEL: 'warn',
      ZEEBE_BROKER_NETWORK_HOST: '127.0.0.1',
      ZEEBE_BROKER_NETWORK_COMMANDAPI_PORT: String(command),
      ZEEBE_BROKER_NETWORK_INTERNALAPI_PORT: String(internal),
      ZEEBE_BROKER_GATEWAY_NETWORK_PORT: String(gateway),
      ZEEBE_BROKER_DATA_DIRECTORY: join(run.stateDir, 'zeebe'),
      SERVER_ADDRESS: '127.0.0.1',
      SERVER_PORT: String(rest),
      MANAGEMENT_SERVER_ADDRESS: '127.0.0.1',
      MANAGEMENT_SERVER_PORT: String(management),
      // The default rejects requests when they take longer than 200 ms, which happens with 128 clients on two cores.
      ZEEBE_BROKER_BACKPRESSURE_ALGORITHM: 'fixed',
      ZEEBE_BROKER_BACKPRESSURE_FIXED_LIMIT: '1000',
      ...(fsync ? {} : { ZEEBE_BROKER_CLUSTER_RAFT_FLUSH_DELAYTIME: '30s' }),
    },
    isReady: async () => (await (await fetch(`${url}/v2/topology`)).text()).includes('"role":"leader"'),
  });
  return { url, gateway: `127.0.0.1:${gateway}`, pid };
}

/**
 * Returns a free UDP port for messages between cluster members. {@link findFreePort} cannot be used here, because it
 * keeps a UDP socket bound to the port that it returns.
 */
async function findUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  const { port } = socket.address();
  await once(socket.close(), 'close');
  return port;
}

async function deploy(url: string): Promise<void> {
  const form = new FormData();
  form.set('resources', new Blob([definition]), 'movies.bpmn');
  const response = await fetch(`${url}/v2/deployments`, { method: 'POST', body: form });
  if (!response.ok) throw new Error(`Zeebe refused the process: ${response.status} ${await response.text()}`);
}

/** Waits until a process completes: the broker learns of a new job stream only a moment after the stream is opened. */
async function untilFirstResponse(url: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const headers = { 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(5_000);
    const response = await fetch(url + call.path, { method: 'POST', headers, body, signal }).catch(() => undefined);
    if (response?.ok === true) return;
    if (performance.now() > deadline) throw new Error(`Zeebe does not complete a process: ${response?.status}`);
    await delay(500);
  }
}
