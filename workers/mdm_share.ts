// The worker of task type mdm_share: sends a person's cccid to the adaptor of one interested college, and reports the
// result to MDM.

import { createHash, randomUUID } from 'node:crypto';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { adaptorOf } from './back-end/adaptor-of.ts';
import { deliver, postToMdm } from './mdm/deliver.ts';
import { type PackedSystem, unpackShare } from './mdm/packed-share.ts';
import { RetryableError, retryUntilDelivered } from './mdm/retryable-error.ts';
import { TaskFailure } from './task-failure.ts';
import type { TaskOutcome, Worker, WorkerDependencies } from './worker.ts';

/** Input of the task from mdm-shareWF, with the person's keys unpacked. */
interface ShareInput {
  misCode: string;
  /** The person's key at that college. */
  sisPersonId: string;
  cccid: string;
  /** Execution id of the PATCH that is shared. */
  sourceExecutionId: string;
  requestId: string;
  /** Makes the Idempotency-Keys of a newer cccid unique; undefined for the cccid in the task's input. */
  correctionId?: string;
}

type PackedShareInput = Omit<ShareInput, keyof PackedSystem> & PackedSystem;

/** Maximum number of newer cccids that one attempt sends; the next attempt continues. */
const maxCorrections = 10;

/** Creates the worker. Requires `mdm.url` and the URL of the adaptor that it runs beside. */
export function createMdmShare(dependencies: WorkerDependencies): Worker {
  const { config } = dependencies;
  const codec = createPayloadCodec(config);
  return {
    taskDefName: 'mdm_share',
    execute: (task) =>
      retryUntilDelivered(task, config, (progress) => {
        const input = unpackShare(task.inputData as unknown as PackedShareInput, codec);
        return share(input, progress, dependencies);
      }),
  };
}

/**
 * Sends the cccid to the adaptor, and reports it to MDM. Updates may overtake each other, so a newer cccid in MDM's
 * response is sent to the adaptor too.
 * @param progress output of earlier attempts, updated in place
 */
async function share(
  input: ShareInput,
  progress: Record<string, unknown>,
  dependencies: WorkerDependencies,
): Promise<TaskOutcome> {
  // A PATCH that succeeded in an earlier attempt is not repeated when only MDM was unavailable.
  progress['status'] ??= await sendToAdaptor(input, dependencies);
  let shared = input;
  // After a correction in an earlier attempt, the adaptor may have a cccid that this attempt does not know.
  let isLastSent = progress['corrections'] === undefined;
  for (let sent = 0; sent < maxCorrections; sent++) {
    const current = await reportToMdm(shared, 'shared', dependencies);
    // If MDM names no current cccid, a further PATCH could replace a newer value with an older one.
    if (current === undefined || (isLastSent && current === shared.cccid))
      return { status: 'COMPLETED', outputData: { status: progress['status'] } };
    shared = { ...input, cccid: current, correctionId: randomUUID() };
    isLastSent = true;
    // Counted before the PATCH, which may be applied even if the call fails.
    progress['corrections'] = Number(progress['corrections'] ?? 0) + 1;
    progress['status'] = await sendToAdaptor(shared, dependencies);
  }
  throw new RetryableError('MDM returns a different cccid each time');
}

/** Sends the PATCH and returns the status of the response. A PATCH that fails permanently is reported to MDM. */
async function sendToAdaptor(input: ShareInput, dependencies: WorkerDependencies): Promise<number> {
  try {
    return await patchAdaptor(input, dependencies);
  } catch (error) {
    // Reported once; the task fails whether or not the report arrives.
    if (error instanceof TaskFailure) await reportToMdm(input, 'failed', dependencies).catch(() => undefined);
    throw error;
  }
}

/** Calls the adaptor and returns the response status. The call bypasses the router, so no event and no loop follows. */
async function patchAdaptor(input: ShareInput, { config, callBackEnd }: WorkerDependencies): Promise<number> {
  const { misCode, sisPersonId, cccid, requestId } = input;
  const { status } = await deliver(callBackEnd, {
    recipient: 'the adaptor',
    base: adaptorOf(misCode, config),
    method: 'PATCH',
    path: `/mock/colleges/${encodeURIComponent(misCode)}/persons/${encodeURIComponent(sisPersonId)}`,
    body: { cccid },
    requestId,
    idempotencyKey: idempotencyKeyOf(input, 'patch'),
  });
  return status;
}

/** Reports a result. Returns the person's current cccid in MDM; undefined when the response does not contain one. */
async function reportToMdm(
  input: ShareInput,
  status: 'shared' | 'failed',
  dependencies: WorkerDependencies,
): Promise<string | undefined> {
  const { sourceExecutionId, requestId, misCode, sisPersonId, cccid } = input;
  const response = await postToMdm(dependencies, {
    path: '/shares',
    body: { executionId: sourceExecutionId, misCode, sisPersonId, cccid, status },
    requestId,
    idempotencyKey: idempotencyKeyOf(input, status),
  });
  const current = response?.['cccid'];
  return typeof current === 'string' && current !== '' ? current : undefined;
}

/**
 * Returns the same key when the workflow is started twice for one update, but a different key for each correction,
 * because this execution or another one may have sent the same cccid before. The key contains personal data only as a
 * hash, so it reveals none.
 */
function idempotencyKeyOf(input: ShareInput, purpose: string): string {
  const { sourceExecutionId, misCode, sisPersonId, cccid, correctionId } = input;
  const correction = correctionId === undefined ? [] : [correctionId];
  const hash = createHash('sha256').update(JSON.stringify([misCode, sisPersonId, cccid, purpose, ...correction]));
  return `${sourceExecutionId}-${hash.digest('hex').slice(0, 32)}`;
}
