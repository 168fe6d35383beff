// Tests of encrypted payloads: which parts stay readable, what the ciphertext is bound to, and how keys are rotated.

import { randomBytes } from 'node:crypto';
import { anyText, fc } from '../../../run/properties.ts';
import { describe, expect, it } from 'vitest';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { createPayloadCodec, type PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { joseOf } from './independent-jose.ts';
import { byDepth } from '../../../run/depth.ts';

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const codecOf = (key: string | undefined, ...decryptionKeys: string[]) =>
  createPayloadCodec({ 'payload.key': key, 'payload.decryptionKeys': decryptionKeys });

/** Passes a value through JSON, as the engine does. */
const throughEngine = (value: unknown) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>;

const request: InboundRequest = {
  httpMethod: 'PATCH',
  path: '/persons/0320991',
  query: 'lastName=Okafor',
  params: { mis: '001', title: 'Ines Okafor' },
  headers: { 'content-type': 'application/json', 'user-agent': 'okafor-client' },
  requestId: 'request-1',
  clientId: 'demo',
  route: 'adaptor',
  body: Buffer.from('{"cccid":"ABL0199","id":12345678901234567890}'),
};
const answer = { status: 200, headers: { etag: '"okafor"' }, body: Buffer.from('{"lastName":"Okafor"}') };

const key = newKey('k1');
const codec = codecOf(key);
const sealRequest = (by: PayloadCodec = codec, given: InboundRequest = request) =>
  throughEngine(by.packInbound(given, ['mis']));
const sealAnswer = (by: PayloadCodec = codec, given: BackEndResponse = answer) =>
  throughEngine(by.packOutbound(given, { inbound: sealRequest(by), executionId: 'execution-1' }));

describe('what the engine sees', () => {
  it('of a request: method, ids, client, route and the parameter that chooses the domain', () => {
    const { sealed, ...clear } = sealRequest();
    const { httpMethod, requestId, clientId, route } = request;
    expect(clear).toEqual({ httpMethod, requestId, clientId, route, params: { mis: '001' } });
    expect(sealed).toMatch(/^[\w-]+\.\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
  });

  it('of a response: its status', () => {
    const { sealed, ...clear } = sealAnswer();
    expect(clear).toEqual({ statusCodeValue: 200 });
    expect(Buffer.from(String(sealed)).includes('kafor')).toBe(false);
  });

  it('a request that is encrypted twice has two different ciphertexts', () => {
    expect(sealRequest()['sealed']).not.toBe(sealRequest()['sealed']);
  });

  it('an independent implementation of RFC 7516 can decrypt a request', async () => {
    const { compactDecrypt } = await joseOf();
    const bytes = Buffer.from(key.split(':')[1] ?? '', 'base64');
    const { plaintext, protectedHeader } = await compactDecrypt(String(sealRequest()['sealed']), bytes);
    expect(protectedHeader).toEqual({ alg: 'dir', enc: 'A256GCM', kid: 'k1', cty: 'inbound', sub: 'request-1' });
    const [line = '', body] = Buffer.from(plaintext).toString().split('\n');
    expect(JSON.parse(line)).toMatchObject({ path: '/persons/0320991', query: 'lastName=Okafor' });
    expect(body).toBe(request.body.toString());
  });
});

describe('what the reader gets', () => {
  it('everything unchanged, for any bytes and texts', () => {
    const text = anyText();
    fc.assert(
      fc.property(text, fc.option(text, { nil: undefined }), text, fc.uint8Array(), (path, query, header, bytes) => {
        const body = Buffer.from(bytes);
        const given: InboundRequest = { ...request, path, query, headers: { x: header }, body };
        const { query: readQuery, ...read } = codec.unpackInbound(sealRequest(codec, given));
        expect({ ...read, query: readQuery }).toEqual(given);
        const returned = { status: 404, headers: { x: [header, path] }, body };
        expect(codec.unpackOutbound(sealAnswer(codec, returned), 'execution-1')).toEqual(returned);
      }),
    );
  });

  it('large bodies are compressed before they are encrypted, and limits apply to the decompressed size', () => {
    const body = Buffer.alloc(1_000_000, 'a');
    const sealed = sealAnswer(codec, { ...answer, body });
    expect(String(sealed['sealed']).length).toBeLessThan(20_000);
    expect(codec.unpackOutbound(sealed, 'execution-1', { maxBodyBytes: 1_000_000 }).body.equals(body)).toBe(true);
    expect(() => codec.unpackOutbound(sealed, 'execution-1', { maxBodyBytes: 999_999 })).toThrow(RangeError);
    const incompressible = sealRequest(codec, { ...request, body: randomBytes(100_000) });
    expect(() => codec.unpackInbound(incompressible, 99_999)).toThrow(RangeError);
  });

  it('without a key, nothing is encrypted; with a key, unencrypted payloads can still be read', () => {
    const plain = codecOf(undefined);
    const clear = sealRequest(plain);
    expect(clear).toMatchObject({ path: request.path });
    expect(codec.unpackInbound(clear)).toMatchObject({ path: request.path, body: request.body });
    const outbound = throughEngine(codec.packOutbound(answer, { inbound: clear, executionId: 'execution-1' }));
    expect(plain.unpackOutbound(outbound, 'execution-1')).toEqual(answer);
  });
});

describe('a text, such as a person key', () => {
  const binding = { contentType: 'cccid', subject: 'execution-1/002' };

  it.each(['ABL0199', 'A\0B', '${x}', '\ud800'])('%j: encrypted if the request was, and decoded unchanged', (text) => {
    const clear = codec.packText(text, { binding, inbound: { httpMethod: 'PATCH' } });
    const sealed = codec.packText(text, { binding, inbound: { sealed: 'x' } });
    expect(JSON.stringify(sealed)).toContain('"sealed":"eyJ');
    expect(JSON.stringify(sealed)).not.toContain('ABL0199');
    for (const packed of [clear, sealed]) expect(codec.unpackText(packed, binding)).toBe(text);
  });
});

describe('keys', () => {
  const [old, next] = [newKey('2026-10'), newKey('2026-11')];

  it('are rotated in steps: the new key only decrypts, then it encrypts, and then the old key is removed', () => {
    const before = codecOf(old, next);
    const after = codecOf(next, old);
    for (const [writer, reader] of [
      [before, after],
      [after, before],
    ] as const)
      expect(reader.unpackInbound(sealRequest(writer))).toMatchObject({ path: request.path });
    expect(() => codecOf(next).unpackInbound(sealRequest(before))).toThrow(
      new PayloadUnreadable('there is no key with the id 2026-10'),
    );
  });

  it('none is configured → the error names payload.key', () => {
    expect(() => codecOf(undefined).unpackInbound(sealRequest())).toThrow(/payload\.key is not set/);
  });

  it('another key under the same id → the payload does not decrypt', () => {
    expect(() => codecOf(newKey('k1')).unpackInbound(sealRequest())).toThrow(/decryption with the key k1 failed/);
  });

  it('two keys with the same id → the configuration is refused, without the keys in the message', () => {
    const twin = newKey('2026-10');
    expect(() => codecOf(old, twin)).toThrow(/two different keys have the id 2026-10: /);
    expect(() => codecOf(old, old)).not.toThrow();
  });
});

describe('changed payloads are refused', () => {
  const unreadable = (value: Record<string, unknown>) =>
    expect(() => codec.unpackInbound(value), JSON.stringify(value)).toThrow(PayloadUnreadable);

  it('every bit is protected', () => {
    const sealed = String(sealRequest()['sealed']);
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 127 }), (at, flip) => {
        const changed = String.fromCharCode(sealed.charCodeAt(at) ^ flip);
        const forged = sealed.slice(0, at) + changed + sealed.slice(at + 1);
        // The last character of a part may contain bits that base64url does not use; equal bytes are the same message.
        const bytesOf = (token: string) =>
          token.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'));
        fc.pre(bytesOf(forged).join() !== bytesOf(sealed).join());
        unreadable({ ...sealRequest(), sealed: forged });
      }),
      { numRuns: byDepth(100, 1_000) },
    );
  });

  it('changes to the unencrypted copies', () => {
    unreadable({ ...sealRequest(), httpMethod: 'GET' });
    unreadable({ ...sealRequest(), requestId: 'request-2' });
    unreadable({ ...sealRequest(), clientId: 'other' });
    unreadable({ ...sealRequest(), route: 'movies' });
    expect(() => codec.unpackOutbound({ ...sealAnswer(), statusCodeValue: 500 }, 'execution-1')).toThrow(
      PayloadUnreadable,
    );
  });

  it('the response of another execution, or a request in place of a response', () => {
    expect(() => codec.unpackOutbound(sealAnswer(), 'execution-2')).toThrow(/another execution/);
    expect(() => codec.unpackOutbound({ ...sealRequest(), statusCodeValue: 200 }, 'request-1')).toThrow(
      /another execution/,
    );
  });

  it.each([
    ['another algorithm', { alg: 'A256KW', enc: 'A256GCM', kid: 'k1' }],
    ['another cipher', { alg: 'dir', enc: 'A128CBC-HS256', kid: 'k1' }],
    ['compression', { alg: 'dir', enc: 'A256GCM', kid: 'k1', zip: 'DEF' }],
    ['a critical extension', { alg: 'dir', enc: 'A256GCM', kid: 'k1', crit: ['exp'] }],
    ['a key id that is not a string', { alg: 'dir', enc: 'A256GCM', kid: 1 }],
    ['a key id that is a sentence', { alg: 'dir', enc: 'A256GCM', kid: 'no such key, says Ines' }],
  ])('a header with %s', (_title, header) => {
    const [, ...rest] = String(sealRequest()['sealed']).split('.');
    const forged = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
    expect(() => codec.unpackInbound({ ...sealRequest(), sealed: forged })).toThrow(/not a JWE with a shared key/);
  });

  it.each(['', '.', '....', 'a.b.c', '{}', 'x'.repeat(100)])('%j is not a JWE', (sealed) => {
    unreadable({ ...sealRequest(), sealed });
  });
});
