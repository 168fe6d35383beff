// Tests of workers with encrypted payloads: what they decrypt, what they encrypt, and what happens without the right
// key.

import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { createPayloadCodec, type PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { createBackEndCaller } from '../../../../workers/back-end/call-back-end.ts';
import { createCollegeAdaptorIntake } from '../../../../workers/college-adaptor_intake.ts';
import { createMdmNotify } from '../../../../workers/mdm_notify.ts';
import { createMdmShare } from '../../../../workers/mdm_share.ts';
import { supervise } from '../../../../workers/run-task.ts';
import type { TaskOutcome, Worker, WorkerDependencies } from '../../../../workers/worker.ts';
import { type RawBackEnd, startRawBackEnd } from '../../../workers/raw-back-end.ts';
import { configOf, receivedOutcome, recordingLog } from '../../../workers/started-workers.ts';

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const key = newKey('k1');
const codec = createPayloadCodec({ 'payload.key': key, 'payload.decryptionKeys': [] });
const record = '{"sisPersonId":"p1","cccid":"CCC0001"}';
const systems = {
  notificationId: 'n-1',
  interestedSystems: [{ misCode: '002', sisPersonId: 'colleague2', cccid: 'CCC0001' }],
};

let backEnd: RawBackEnd;
let caller: ReturnType<typeof createBackEndCaller>;

beforeEach(async () => {
  backEnd = await startRawBackEnd((socket, request) => {
    const body = request.includes('/notifications') ? JSON.stringify(systems) : record;
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  caller = createBackEndCaller({ timeoutMs: 60_000, maxResponseBytes: 100_000 });
});
afterEach(async () => {
  caller.close();
  await backEnd.stop();
});

async function run(
  create: (dependencies: WorkerDependencies) => Worker,
  inputData: object,
  payloadKey?: string,
): Promise<{ outcome: TaskOutcome; lines: Record<string, unknown>[]; reported: unknown[] }> {
  const config = await configOf({
    'adaptor.001.url': `${backEnd.url}/one`,
    'adaptor.002.url': `${backEnd.url}/two`,
    'mdm.url': `${backEnd.url}/mdm`,
    ...(payloadKey === undefined ? {} : { 'payload.key': payloadKey }),
  });
  const { log, lines } = recordingLog();
  const reported: unknown[] = [];
  const reportError = (error: unknown) => reported.push(error);
  const worker = supervise(create({ config, callBackEnd: caller.call }), { log, reportError });
  const task = { taskId: 't', workflowInstanceId: 'execution-1', scheduledTime: Date.now(), inputData };
  const outcome = receivedOutcome(await worker.execute(task as unknown as Task));
  return { outcome, lines, reported };
}

const sealedPatch = (by: PayloadCodec = codec) =>
  by.packInbound(
    {
      httpMethod: 'PATCH',
      path: '/persons/p1',
      query: undefined,
      params: { mis: '001' },
      headers: { 'content-type': 'application/json' },
      requestId: 'r-1',
      clientId: 'demo',
      route: 'adaptor',
      body: Buffer.from('{"cccid":"CCC0001"}'),
    },
    ['mis'],
  );
const notifyInput = () => {
  const inbound = sealedPatch();
  const answer = { status: 200, headers: {}, body: Buffer.from(record) };
  const outbound = codec.packOutbound(answer, { inbound, executionId: 'patch-1' });
  return { mis: '001', inbound, outbound, requestId: 'r-1', executionId: 'patch-1' };
};

describe('with the key', () => {
  it('an intake worker sends the decrypted request to the back end, and returns a status and ciphertext', async () => {
    const { outcome, lines } = await run(createCollegeAdaptorIntake, { inbound: sealedPatch() }, key);
    expect(backEnd.requests[0]).toMatch(/^PATCH \/one\/persons\/p1 /);
    expect(backEnd.requests[0]).toContain('{"cccid":"CCC0001"}');
    if (outcome.status !== 'COMPLETED') throw new Error(JSON.stringify(outcome));
    const { outbound } = outcome.outputData;
    expect(outbound).toEqual({ statusCodeValue: 200, sealed: expect.any(String), answeredAt: expect.any(String) });
    expect(codec.unpackOutbound(outbound, 'execution-1').body.toString()).toBe(record);
    expect(lines).toMatchObject([{ status: 200, requestId: 'r-1', outcome: 'COMPLETED' }]);
  });

  it('MDM gets the decrypted notification, and the systems that it returns are encrypted', async () => {
    const { outcome } = await run(createMdmNotify, notifyInput(), key);
    expect(backEnd.requests[0]).toContain('"sisPersonId":"p1","cccid":"CCC0001"');
    if (outcome.status !== 'COMPLETED') throw new Error(JSON.stringify(outcome));
    expect(JSON.stringify(outcome.outputData)).not.toMatch(/CCC0001|colleague2/);
    const [system] = outcome.outputData['interestedSystems'] as object[];
    expect(system).toMatchObject({ misCode: '002', sisPersonId: { sealed: expect.any(String) } });

    const shareInput = { ...system, sourceExecutionId: 'patch-1', requestId: 'r-1' };
    const shared = await run(createMdmShare, shareInput, key);
    expect(shared.outcome).toEqual({ status: 'COMPLETED', outputData: { status: 200 } });
    expect(backEnd.requests[1]).toMatch(/^PATCH \/two\/mock\/colleges\/002\/persons\/colleague2 /);
    expect(backEnd.requests[1]).toContain('{"cccid":"CCC0001"}');

    const elsewhere = await run(createMdmShare, { ...shareInput, misCode: '001' }, key);
    expect(elsewhere.outcome).toMatchObject({ reasonForIncompletion: expect.stringMatching(/^payload-unreadable: /) });
    expect(backEnd.requests.filter((request) => request.startsWith('PATCH /one'))).toEqual([]);
  });
});

describe('without the right key', () => {
  it.each([
    ['no key', undefined, 'it is encrypted and payload.key is not set'],
    ['another key', newKey('k2'), 'there is no key with the id k1'],
    ['another key with the same id', newKey('k1'), 'decryption with the key k1 failed'],
  ])('%s → the task fails with a code, and no back end is called', async (_title, payloadKey, why) => {
    const reasons = [];
    for (const [create, input] of [
      [createCollegeAdaptorIntake, { inbound: sealedPatch() }],
      [createMdmNotify, notifyInput()],
    ] as const) {
      const { outcome, reported } = await run(create, input, payloadKey);
      expect(outcome.status).toBe('FAILED_WITH_TERMINAL_ERROR');
      reasons.push((outcome as { reasonForIncompletion: string }).reasonForIncompletion);
      expect(reported).toEqual([]);
    }
    expect(reasons).toEqual(Array(2).fill(`payload-unreadable: the request cannot be read: ${why}`));
    expect(backEnd.requests).toEqual([]);
  });
});
