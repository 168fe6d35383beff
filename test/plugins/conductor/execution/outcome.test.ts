// Tests of the recorded outcome with encrypted payloads: only the client that sent the request gets the response.

import { describe, expect, it } from 'vitest';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { recordedOutcome } from '../../../../plugins/conductor/execution/outcome.ts';

const codecOf = (key: string | undefined, ...decryptionKeys: string[]) =>
  createPayloadCodec({ 'payload.key': key, 'payload.decryptionKeys': decryptionKeys });
const [first, second] = ['first', 'second'].map((id, index) => `${id}:${Buffer.alloc(32, index).toString('base64')}`);
const codec = codecOf(first);

const request = {
  ...{ httpMethod: 'GET', path: '/', query: undefined, params: {}, headers: {} },
  ...{ requestId: 'request-1', clientId: 'demo', route: 'movies', body: Buffer.alloc(0) },
};
const inbound = codec.packInbound(request, []);
const response = { status: 200, headers: {}, body: Buffer.from('{"lastName":"Okafor"}') };
const outbound = codec.packOutbound(response, { inbound, executionId: 'e-1' });

/** Returns what the client gets when the engine has stored this request and response. */
function outcomeOf(given: { inbound: object; outbound: object }, by = codec) {
  const execution = {
    ...{ workflowId: 'e-1', status: 'COMPLETED' },
    ...{ input: { inbound: given.inbound }, output: { outbound: given.outbound } },
  } as unknown as WholeExecution;
  return recordedOutcome(execution, {
    ...{ maxBytes: 1_000, allows: () => true, codec: by },
    linksOf: () => ({ self: '', response: '' }),
  });
}

const unreadable = (detail: string) => ({
  kind: 'problem',
  problem: expect.objectContaining({ code: 'payload-unreadable', detail }),
});

describe('the response of an encrypted request', () => {
  it('is returned to its client', () => {
    expect(outcomeOf({ inbound, outbound })).toEqual({ kind: 'response', response });
  });

  it.each([
    ['the client was changed', { ...inbound, clientId: 'thief' }, 'its unencrypted fields were changed'],
    [
      'the request was replaced by an unencrypted one',
      codecOf(undefined).packInbound(request, []),
      'it is not encrypted',
    ],
  ])('is not decrypted when %s', (_title, changed, reason) => {
    const detail = `The request of the execution cannot be verified: ${reason}.`;
    expect(outcomeOf({ inbound: changed, outbound })).toEqual(unreadable(detail));
  });

  it('is not sent when the request was replaced by one of another client', () => {
    const replaced = codec.packInbound({ ...request, clientId: 'thief' }, []);
    const detail = 'The response cannot be read: it belongs to another client. The request was carried out.';
    expect(outcomeOf({ inbound: replaced, outbound })).toEqual(unreadable(detail));
  });

  it('is not decrypted without the key of the request, which is needed to verify which client sent it', () => {
    const worker = codecOf(second, String(first));
    const detail = 'The request of the execution cannot be verified: there is no key with the id first.';
    const sealed = worker.packOutbound(response, { inbound, executionId: 'e-1' });
    expect(outcomeOf({ inbound, outbound: sealed }, codecOf(second))).toEqual(unreadable(detail));
  });
});

describe('the response of an unencrypted request', () => {
  it('is returned, with or without a key', () => {
    const plain = codecOf(undefined);
    const clear = plain.packInbound(request, []);
    const given = { inbound: clear, outbound: plain.packOutbound(response, { inbound: clear, executionId: 'e-1' }) };
    for (const by of [plain, codec]) expect(outcomeOf(given, by)).toEqual({ kind: 'response', response });
  });
});
