// Tests of the failure code and the text of a failed back-end call.

import { describe, expect, it } from 'vitest';
import { toBackEndFailure } from '../../../workers/back-end/back-end-failure.ts';

const call = { writes: true, timeoutMs: 5, timedOut: false, sent: false };
const errorOf = (code: string) => Object.assign(new Error('x'), { code });

describe('a request that was not sent', () => {
  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'CERT_NOT_YET_VALID', 'HOSTNAME_MISMATCH'])(
    'fails with back-end-unreachable on the error %s, and the text says that nothing was changed',
    (code) => {
      const aggregate = Object.assign(new AggregateError([errorOf(code)]), { code });
      for (const error of [errorOf(code), aggregate, new Error('wrapped', { cause: errorOf(code) })]) {
        const { reason, connectionLost } = toBackEndFailure(error, call);
        expect(reason).toBe('back-end-unreachable: no connection; nothing was changed');
        expect(connectionLost).toBe(true);
      }
    },
  );

  it('fails with back-end-unreachable when the deadline has passed, and is not retried', () => {
    const { reason, connectionLost } = toBackEndFailure(errorOf('ERR_CANCELED'), { ...call, timedOut: true });
    expect(reason).toBe('back-end-unreachable: no connection within 5 ms; nothing was changed');
    expect(connectionLost).toBe(false);
  });
});

describe('a request that may have been sent', () => {
  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPROTO', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
    'is reported as possibly applied, whatever the error (%s)',
    (code) => {
      const { reason } = toBackEndFailure(errorOf(code), { ...call, sent: true });
      expect(reason).toMatch(/^back-end-bad-answer: .*; the change may have been applied$/);
    },
  );

  it('fails with back-end-timeout when the deadline has passed', () => {
    const { reason } = toBackEndFailure(errorOf('ERR_CANCELED'), { ...call, sent: true, timedOut: true });
    expect(reason).toBe('back-end-timeout: no response within 5 ms; the change may have been applied');
  });
});
