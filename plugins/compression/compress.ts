// The compress policy: responses of the policies behind it are sent in br or gzip when the client accepts that.

import { Type } from 'typebox';
import { headerRef } from '#lib/openapi/headers.ts';
import type { HeaderFields } from '#lib/envelope/headers.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import {
  chooseCoding,
  type Coding,
  compressBody,
  isCompressible,
  varyBy,
} from '../../gateway/plugin-api/content-coding.ts';
import { contextOf, declarePolicy, definePolicy } from '../../gateway/plugin-api/plugin-api.ts';

const parameters = Type.Object(
  {
    overBytes: Type.Integer({ minimum: 0, default: 1024, description: 'smaller answers stay as they are (bytes)' }),
  },
  { additionalProperties: false },
);

/** Name, parameters and OpenAPI description of the policy. */
export const compressDeclaration = declarePolicy({
  name: 'compress',
  schema: parameters,
  describe: () => ({
    operation: () => ({ headers: { 'Content-Encoding': headerRef('ContentEncoding'), Vary: headerRef('Vary') } }),
  }),
});

/**
 * The policy `compress`. It runs before `workflow`. When a response holds a secret next to text that an attacker chose,
 * its compressed length reveals the secret (BREACH). So this policy must not run before tokens, or before the engine's
 * API, where one response holds requests of several clients.
 */
export const compressPolicy = definePolicy(compressDeclaration, {
  create: ({ overBytes }) =>
    function compressResponses(request, _response, next) {
      const coding = chooseCoding(request);
      const compress = (answer: BackEndResponse) =>
        request.method === 'HEAD' ? Promise.resolve(answer) : compressAnswer(answer, coding, overBytes);
      contextOf(request).compress = compress;
      next();
    },
});

/**
 * Compresses a response when that makes it smaller.
 * @param coding coding that the client accepts; undefined when it accepts none (`Vary` is set nevertheless)
 * @param overBytes bodies up to this size are not compressed
 */
export async function compressAnswer(
  answer: BackEndResponse,
  coding: Coding | undefined,
  overBytes: number,
): Promise<BackEndResponse> {
  const { headers, body } = answer;
  if (body.length <= overBytes || !mayBeCompressed(answer)) return answer;
  const varied: HeaderFields = { ...headers, vary: varyBy(headers['vary'], 'Accept-Encoding') };
  if (coding === undefined) return { ...answer, headers: varied };
  const compressed = await compressBody(body, coding);
  if (compressed.length >= body.length) return { ...answer, headers: varied };
  return { ...answer, headers: { ...varied, 'content-encoding': coding }, body: compressed };
}

/** Header fields that describe the exact bytes of the back end's body: such a body is not compressed. */
const boundToBytes = ['content-encoding', 'content-range', 'content-digest', 'repr-digest', 'digest', 'content-md5'];

function mayBeCompressed({ status, headers }: BackEndResponse): boolean {
  if (status === 204 || status === 206 || status === 304) return false;
  if (boundToBytes.some((name) => headers[name] !== undefined)) return false;
  // Byte ranges of the back end would not match the compressed body.
  if (/\bbytes\b/i.test(textOf(headers['accept-ranges']))) return false;
  if (/\bno-transform\b/i.test(textOf(headers['cache-control']))) return false;
  // A weak ETag would be correct, but If-Match never matches a weak one (RFC 9110 section 13.1.1), so writes would
  // fail.
  if (headers['etag'] !== undefined && !textOf(headers['etag']).startsWith('W/')) return false;
  return isCompressible(textOf(headers['content-type']));
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? ''].flat().join(', ');
}
