// Tests of the envelope: payloads pass through the engine unchanged, byte for byte, whatever a client or a back end
// sent.

import { fc } from '../../run/properties.ts';
import { describe, expect, it } from 'vitest';
import { decodeBody, encodeBody } from '#lib/envelope/body.ts';
import { formatFailure, parseFailure } from '#lib/envelope/failure.ts';
import { pickHeaders, requestHeaderFilter, responseHeaderFilter, sizeOfHeaders } from '#lib/envelope/headers.ts';
import { createInbound, readInbound } from '#lib/envelope/inbound.ts';
import { createOutbound, readOutbound } from '#lib/envelope/outbound.ts';

/** Passes a value through JSON, as the engine does. */
const throughEngine = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const request = {
  httpMethod: 'PATCH',
  path: '/mock/colleges/001/persons/a%2Fb',
  query: 'x=&x=1',
  params: { mis: '001' },
  headers: { accept: 'application/json' },
  requestId: 'request-1',
  clientId: 'demo',
  route: 'adaptor',
};

describe('a body', () => {
  it.each([
    ['JSON with a 20-digit number and a duplicate key', '{"id":12345678901234567890,"id":1}', 'text'],
    ['an escaped lone surrogate', '{"a":"\\ud800"}', 'text'],
    ['an escaped NUL', '{"a":"\\u0000"}', 'text'],
    ['a byte order mark', '\ufeff{}', 'text'],
    ['a real NUL', 'a\0b', 'base64'],
    ['an engine expression', '{"a":"${workflow.secrets.X}"}', 'base64'],
  ])('%s survives the round trip unchanged', (_title, text, encoding) => {
    const bytes = Buffer.from(text);
    const encoded = throughEngine(encodeBody(bytes));
    expect(encoded.bodyEncoding).toBe(encoding);
    expect(decodeBody(encoded).equals(bytes)).toBe(true);
  });

  it('bytes that are not UTF-8 survive the round trip', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28]);
    expect(decodeBody(throughEngine(encodeBody(bytes))).equals(bytes)).toBe(true);
  });

  it('a large body is compressed, and never stored as text', () => {
    const bytes = Buffer.from('many words '.repeat(100_000));
    const encoded = encodeBody(bytes);
    expect(encoded.bodyEncoding).toBe('gzip+base64');
    expect(encoded.body?.length).toBeLessThan(bytes.length / 10);
    expect(decodeBody(encoded).equals(bytes)).toBe(true);
  });

  it('an empty body is omitted', () => {
    expect(encodeBody(Buffer.alloc(0))).toEqual({});
    expect(decodeBody({})).toHaveLength(0);
  });

  it('a compression bomb is refused before it is fully decompressed', () => {
    const bomb = encodeBody(Buffer.alloc(50_000_000));
    expect(() => decodeBody(bomb, 1_000_000)).toThrow(RangeError);
  });

  it.each(['@@@', 'YQ=a', 'YQ==YQ==', 'YWJj\nYWJj', 'Y', 'YWJjZ', '='])('invalid base64, %j, is refused', (body) => {
    expect(() => decodeBody({ body, bodyEncoding: 'base64' })).toThrow(TypeError);
    expect(() => decodeBody({ body, bodyEncoding: 'gzip+base64' })).toThrow(TypeError);
  });

  it.each([[[{ a: 1 }, { a: 2 }]], [{ length: 3 }], [7], [true]])(
    'a body that is not a string, %j, is refused',
    (body) => {
      expect(() => decodeBody({ body: body as never })).toThrow(new TypeError('the body is not a string'));
    },
  );

  it.each([
    ['YQ==', 'a'],
    ['YQ', 'a'],
    ['', ''],
    ['_-8', '\xff\xef'],
  ])('base64 without padding or in the URL alphabet, %j, is accepted', (body, bytes) => {
    expect(decodeBody({ body, bodyEncoding: 'base64' }).toString('latin1')).toBe(bytes);
  });

  it('any bytes survive the round trip', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) =>
        decodeBody(throughEngine(encodeBody(bytes))).equals(bytes),
      ),
    );
  });
});

describe('a request', () => {
  it('any path, query and header value survives the round trip, and the engine sees no expression', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('${workflow.secrets.X}', '\\${', '$\\{', '\\\\${a}'),
    );
    fc.assert(
      fc.property(text, text, text, (path, query, header) => {
        const sent = { ...request, path, query, headers: { 'x-any': header }, body: Buffer.from('{}') };
        const inbound = throughEngine(createInbound(sent));
        expect(JSON.stringify(inbound)).not.toContain('${');
        expect(readInbound(inbound)).toMatchObject({ path, query, headers: { 'x-any': header } });
      }),
    );
  });

  it('keeps the difference between no query and an empty query', () => {
    const body = Buffer.alloc(0);
    expect(readInbound(throughEngine(createInbound({ ...request, query: undefined, body }))).query).toBeUndefined();
    expect(readInbound(throughEngine(createInbound({ ...request, query: '', body }))).query).toBe('');
  });

  it('that is missing from the task input is refused with a message that says so', () => {
    expect(() => readInbound(undefined)).toThrow(/no `inbound`/);
  });

  it('unescapes only what was escaped: the client id keeps its backslash', () => {
    const body = Buffer.alloc(0);
    for (const query of ['a=b', 'a=${b}']) {
      const inbound = createInbound({ ...request, clientId: 'CORP\\app', query, body });
      expect(readInbound(throughEngine(inbound))).toMatchObject({ clientId: 'CORP\\app', query });
    }
  });
});

describe('a response', () => {
  it('survives the round trip with status, headers and bytes', () => {
    const answer = {
      status: 207,
      headers: { 'content-type': 'a/b', link: ['<a>', '${b}'] },
      body: Buffer.from([1, 0, 255]),
    };
    expect(readOutbound(throughEngine(createOutbound(answer)))).toEqual(answer);
  });

  it.each([undefined, null, {}, { statusCodeValue: '200' }, { statusCodeValue: 99 }, { statusCodeValue: 600 }])(
    '%j is not a response',
    (value) => {
      expect(() => readOutbound(value)).toThrow(TypeError);
    },
  );
});

describe('headers', () => {
  it('are measured as HTTP/1.1 writes them', () => {
    expect(sizeOfHeaders({})).toBe(0);
    expect(sizeOfHeaders({ etag: '"1"', link: ['<a>', '<bc>'] })).toBe(
      'etag: "1"\r\nlink: <a>\r\nlink: <bc>\r\n'.length,
    );
  });

  it('credentials, cookies and hop-by-hop fields are never passed on, even when configured', () => {
    const names = [
      'authorization',
      'cookie',
      'Set-Cookie',
      'connection',
      'transfer-encoding',
      'x-authorization',
      'host',
    ];
    const fields = Object.fromEntries([...names, 'accept', 'x-extra', 'x-other'].map((name) => [name, 'v']));
    expect(pickHeaders(fields, requestHeaderFilter([...names, 'X-Extra']))).toEqual({ accept: 'v', 'x-extra': 'v' });
    expect(pickHeaders(fields, responseHeaderFilter(names))).toEqual({});
  });

  it('filters a Connection field of 1 MB in linear time; a quadratic algorithm would take minutes', () => {
    const startedAt = performance.now();
    const fields = { connection: `etag \t,a${' '.repeat(1_000_000)}b`, etag: '"1"', link: '<a>' };
    expect(pickHeaders(fields, responseHeaderFilter())).toEqual({ link: '<a>' });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('a failure', () => {
  it('is parsed from the reason, even after a prefix that the engine adds', () => {
    const reason = formatFailure('back-end-timeout', 'no response within 20000 ms');
    expect(parseFailure(reason)).toEqual({ code: 'back-end-timeout', text: 'no response within 20000 ms' });
    const wrapped = `Task abc failed with status: FAILED_WITH_TERMINAL_ERROR and reason: '${reason}'`;
    expect(parseFailure(wrapped)).toEqual(parseFailure(reason));
  });

  it.each([undefined, '', 'something else', 'internal-error: x'])('%j is not a failure of the router', (reason) => {
    expect(parseFailure(reason)).toBeNull();
  });
});
