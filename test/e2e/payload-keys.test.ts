// Tests of encrypted payloads between real programs: keys that match, keys that do not match, and a key rotation.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Caller, callerFor, type RouterAnswer } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { ProgramFailed, startProgram } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [old, next, foreign] = [newKey('old'), newKey('next'), newKey('foreign')];

/** Size of a large body. On a fast machine, TEST_LARGE_BYTES can raise it up to `router.maxResponseBytes`. */
const largeBytes = Number(process.env['TEST_LARGE_BYTES'] ?? 30_000);

let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    router: { PAYLOAD_KEY: old },
    // The workers are one step ahead of the router in the rotation: they encrypt with the next key, but can still
    // decrypt with the old one.
    workers: { PAYLOAD_KEY: next, PAYLOAD_DECRYPTIONKEYS: old },
    colocatedDomain: null,
  });
  demo = await callerFor(stack.url);
});
afterAll(() => stack?.stop());

async function restartRouter(key: string, ...decryptionKeys: string[]): Promise<void> {
  await stack.router.stop();
  await stack.restartRouter({ PAYLOAD_KEY: key, PAYLOAD_DECRYPTIONKEYS: decryptionKeys.join() });
}

const echo = '/adaptor/001/mock/echo';
const patch = () =>
  demo(echo, { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"cccid":"AAA1234"}' });

function expectUnreadable(answer: RouterAnswer, detail: string): void {
  expect(answer.status).toBe(502);
  expect(answer.json()).toMatchObject({ type: '/problems/payload-unreadable', status: 502, detail });
}

it('a response for which the router has no key → 502, which says that the request was carried out', async () => {
  expectUnreadable(
    await patch(),
    'The response cannot be read: there is no key with the id next. The request was carried out.',
  );
});

it('with the next key for decryption, the router can read responses of any size', async () => {
  await restartRouter(old, next);
  expect((await patch()).status).toBe(200);
  const large = await demo(`/adaptor/001/mock/faults/bytes/${largeBytes}`);
  expect([large.status, large.bytes.length]).toEqual([200, largeBytes]);
});

it('with only the next key, the router can still read responses, and the rotation is complete', async () => {
  await restartRouter(next);
  expect((await patch()).status).toBe(200);
});

it('a request for which the worker has no key → 502, and the worker logs the reason', async () => {
  await restartRouter(foreign);
  const answer = await patch();
  expectUnreadable(answer, 'the request cannot be read: there is no key with the id foreign');
  const reason = '"reason":"payload-unreadable: the request cannot be read';
  await pollUntil("the reason in the worker's log", () => stack.workers[0]?.output().includes(reason));
});

it.each(['gateway/main.ts', 'workers/main.ts'])(
  'with a key of the wrong length, %s does not start, and says why without printing the key',
  async (entry) => {
    const short = randomBytes(16).toString('base64');
    const failed = await startProgram(entry, { ...stack.routerEnv, PAYLOAD_KEY: `short:${short}` }).catch(
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(ProgramFailed);
    const { output } = failed as ProgramFailed;
    expect(output).toContain('payload.key must be <key id>:<32 bytes in base64>');
    expect(output).not.toContain(short);
  },
);
