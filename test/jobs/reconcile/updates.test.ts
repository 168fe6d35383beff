// Tests of the reconciler's decisions for updates from MDM's queue.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { classify } from '../../../jobs/reconcile/classify.ts';
import { decideUpdate } from '../../../jobs/reconcile/decide-notification.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';

const mdmDefinitions = new MdmDefinitions(loadDefinitions(fileURLToPath(new URL('../../..', import.meta.url))));
const codec = createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] });
const now = 1_795_275_400_000;
const context = { mdmDefinitions, codec, now, afterMs: 60_000 };
const message = { misCode: '002', sisPersonId: 'B1', cccid: 'C1', updateId: 'u-1' };

const record = (fields: Partial<WholeExecution> = {}): WholeExecution => ({
  workflowId: 'r-1',
  workflowName: 'mdm-updateWF',
  workflowVersion: 1,
  status: 'COMPLETED',
  startTime: now - 70_000,
  endTime: now - 70_000,
  correlationId: 'u-1',
  input: { ...message, 'conductor.event.messageId': 'm-1' },
  output: {},
  tasks: [],
  ...fields,
});
const request = {
  name: 'mdm-shareWF',
  version: 1,
  correlationId: 'u-1',
  taskToDomain: { mdm_share: '002' },
  input: { misCode: '002', sisPersonId: 'B1', cccid: 'C1', requestId: 'u-1', sourceExecutionId: 'u-1' },
};
const share = (input: object): WholeExecution => record({ workflowName: 'mdm-shareWF', input: { ...input } });

describe('the record of an update', () => {
  it('starts a missing share like the handler', () => {
    expect(decideUpdate(record(), [], context)).toEqual({ kind: 'start', case: 'share_lost', requests: [request] });
  });

  it('with its share → settled; with one of another person or cccid only → started', () => {
    expect(decideUpdate(record(), [share(request.input)], context)).toEqual({ kind: 'settled' });
    for (const other of [{ sisPersonId: 'B2' }, { cccid: 'C2' }, { misCode: '003' }]) {
      const shares = [share({ ...request.input, ...other })];
      expect(decideUpdate(record(), shares, context)).toMatchObject({ kind: 'start' });
    }
  });

  it('waits during the grace period', () => {
    expect(decideUpdate(record({ startTime: now - 5_000 }), [], context)).toEqual({ kind: 'waiting' });
  });

  it('left running by a killed engine → its share is started if need be, and it is ended', () => {
    const running = record({ status: 'RUNNING', endTime: 0 });
    expect(decideUpdate(running, [], context)).toMatchObject({ kind: 'replace', requests: [request] });
    expect(decideUpdate(running, [share(request.input)], context)).toMatchObject({ kind: 'replace', requests: [] });
  });

  it('needs nothing when its college has no handler any more', () => {
    expect(decideUpdate(record({ input: { ...message, misCode: '999' } }), [], context)).toEqual({ kind: 'settled' });
  });

  it('is inspected in every status', () => {
    for (const status of ['COMPLETED', 'RUNNING', 'TERMINATED'] as const) {
      const summary = { workflowType: 'mdm-updateWF', version: 1, status, input: '{}', output: '{}' };
      expect(classify(summary as unknown as ExecutionSummary, mdmDefinitions)).toBe('update');
    }
  });
});
