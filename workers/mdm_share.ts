// Task type mdm_share: gives one person's cccid to the adaptor of one interested college, directly, and tells MDM so.

import { createHash } from 'node:crypto';
import type { Task } from '#lib/conductor/types.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { adaptorOf } from './back-end/adaptor-of.ts';
import { deliver } from './mdm/deliver.ts';
import { type PackedSystem, unpackShare } from './mdm/packed-share.ts';
import { parseObject } from './mdm/patched-person.ts';
import { RetryableError, untilDelivered } from './mdm/retryable-error.ts';
import { TaskFailure } from './task-failure.ts';
import type { TaskOutcome, Worker, WorkerDependencies } from './worker.ts';

/** What mdm-shareWF gives the task, with the person's keys unpacked. */
interface ShareInput {
  misCode: string;
  /** The person's key at that college. */
  sisPersonId: string;
  cccid: string;
  /** The execution of the PATCH that is shared. */
  sourceExecutionId: string;
  requestId: string;
}

type PackedShareInput = Omit<ShareInput, keyof PackedSystem> & PackedSystem;

/** More newer values in a row are left to a later try. */
const maxCorrections = 10;

/** Needs `mdm.url`, and the address of the adaptor it runs beside. */
export function createMdmShare({ config, callBackEnd }: WorkerDependencies): Worker {
  const codec = createPayloadCodec(config);
  /** The adaptor's status. Nothing of this passes through the public router: no event follows, so no loop. */
  const patchAdaptor = async (input: ShareInput): Promise<number> => {
    const { misCode, sisPersonId, cccid, requestId } = input;
    const { status } = await deliver(callBackEnd, {
      to: 'the adaptor',
      base: adaptorOf(misCode, config),
      method: 'PATCH',
      path: `/mock/colleges/${encodeURIComponent(misCode)}/persons/${encodeURIComponent(sisPersonId)}`,
      body: { cccid },
      requestId,
      idempotencyKey: keyOf(input, 'patch'),
    });
    return status;
  };
  /** The cccid that MDM has by now, when it says so. */
  const tellMdm = async (input: ShareInput, status: string): Promise<string | undefined> => {
    const { sourceExecutionId, requestId, misCode, sisPersonId, cccid } = input;
    const { text } = await deliver(callBackEnd, {
      to: 'MDM',
      base: config['mdm.url'] as string,
      method: 'POST',
      path: '/shares',
      body: { executionId: sourceExecutionId, misCode, sisPersonId, cccid, status },
      requestId,
      idempotencyKey: keyOf(input, status),
    });
    const { cccid: current } = parseObject(text);
    return typeof current === 'string' && current !== '' ? current : undefined;
  };
  /** Shares may overtake each other: after each PATCH MDM is asked, and a newer cccid is brought as well. */
  const bringCurrent = async (input: ShareInput, progress: Record<string, unknown>): Promise<void> => {
    // A PATCH that succeeded in an earlier try is not repeated when only MDM was away.
    progress['status'] ??= await patchAdaptor(input);
    let shared = input;
    for (let corrections = 0; corrections < maxCorrections; corrections++) {
      const current = await tellMdm(shared, 'shared');
      if (current === undefined || current === shared.cccid) return;
      shared = { ...input, cccid: current };
      progress['status'] = await patchAdaptor(shared);
    }
    throw new RetryableError('MDM names another cccid each time');
  };
  const share = async (task: Task, progress: Record<string, unknown>): Promise<TaskOutcome> => {
    const input = unpackShare(task.inputData as unknown as PackedShareInput, codec);
    try {
      await bringCurrent(input, progress);
    } catch (error) {
      // MDM's record of it is worth one try; the task fails either way, visibly.
      if (error instanceof TaskFailure) await tellMdm(input, 'failed').catch(() => undefined);
      throw error;
    }
    return { status: 'COMPLETED', outputData: { status: progress['status'] } };
  };
  return {
    taskDefName: 'mdm_share',
    execute: (task) => untilDelivered(task, config, (progress) => share(task, progress)),
  };
}

/** The same for a share that is started twice; it gives no value of the person away. */
function keyOf({ sourceExecutionId, misCode, sisPersonId, cccid }: ShareInput, purpose: string): string {
  const hash = createHash('sha256').update(JSON.stringify([misCode, sisPersonId, cccid, purpose]));
  return `${sourceExecutionId}-${hash.digest('hex').slice(0, 32)}`;
}
