// The client's response from the output of an execution: what can be sent, and what becomes a problem before anything is.

import { describe, expect, it } from 'vitest';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import { responseHeaderFilter } from '#lib/envelope/headers.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { responseOf } from '../../../../plugins/conductor/execution/response.ts';

const options = {
  maxBytes: 1_000,
  allows: responseHeaderFilter(['x-rate', 'x-request-id', 'server-timing', 'idempotency-replayed']),
  codec: createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] }),
  linksOf: () => ({ self: '', response: '' }),
  readOnly: true,
};

const completed = (headers: Record<string, string>): ExecutionStatus => ({
  workflowId: 'e-1',
  status: 'COMPLETED',
  output: { outbound: createOutbound({ status: 200, headers, body: Buffer.from('{}') }) },
});

describe('responseOf', () => {
  it.each([
    ['a line break', 'a\r\nset-cookie: b'],
    ['a character that is no byte', 'caf\u00e9 \u20ac'],
  ])('a header field with %s is a bad response of the back end', (_title, value) => {
    expect(() => responseOf(completed({ 'x-rate': value }), options)).toThrow(
      expect.objectContaining({
        code: 'back-end-bad-answer',
        detail: 'A header field of the response cannot be sent.',
      }),
    );
  });

  it('fields that the router sets itself never come from a back end, even when the configuration names them', () => {
    const headers = { 'x-rate': '1', 'x-request-id': 'theirs', 'server-timing': 'a', 'idempotency-replayed': 'true' };
    expect(responseOf(completed(headers), options).headers).toEqual({ 'x-rate': '1' });
  });
});
