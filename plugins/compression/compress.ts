// The compress policy: answers of the policies behind it leave in br or gzip where the client accepts that.

import { Type } from 'typebox';
import { headerRef } from '#lib/openapi/headers.ts';
import type { HeaderFields } from '#lib/envelope/headers.ts';
import type { Answer } from '#lib/envelope/outbound.ts';
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

export const compressDeclaration = declarePolicy({
  name: 'compress',
  schema: parameters,
  describe: () => ({
    operation: () => ({ headers: { 'Content-Encoding': headerRef('ContentEncoding'), Vary: headerRef('Vary') } }),
  }),
});

/**
 * Stands in front of `workflow`. An answer that holds a secret beside text that somebody else chose gives the secret away
 * by its length (BREACH): no such policy belongs in front of tokens, or of the engine's API, where one answer holds
 * requests of several clients.
 */
export const compressPolicy = definePolicy(compressDeclaration, {
  create: ({ overBytes }) =>
    function compressAnswers(request, _response, next) {
      const coding = chooseCoding(request);
      const compress = (answer: Answer) =>
        request.method === 'HEAD' ? Promise.resolve(answer) : compressAnswer(answer, coding, overBytes);
      contextOf(request).compress = compress;
      next();
    },
});

/** @param coding undefined: the client accepts none, but a cache has to know that others do */
export async function compressAnswer(answer: Answer, coding: Coding | undefined, overBytes: number): Promise<Answer> {
  const { headers, body } = answer;
  if (body.length <= overBytes || !mayBeCompressed(answer)) return answer;
  const varied: HeaderFields = { ...headers, vary: varyBy(headers['vary'], 'Accept-Encoding') };
  if (coding === undefined) return { ...answer, headers: varied };
  const compressed = await compressBody(body, coding);
  if (compressed.length >= body.length) return { ...answer, headers: varied };
  return { ...answer, headers: { ...varied, 'content-encoding': coding }, body: compressed };
}

/** Fields that speak of the very bytes of the back end: with one of them, its bytes are what the client gets. */
const boundToBytes = ['content-encoding', 'content-range', 'content-digest', 'repr-digest', 'digest', 'content-md5'];

function mayBeCompressed({ status, headers }: Answer): boolean {
  if (status === 204 || status === 206 || status === 304) return false;
  if (boundToBytes.some((name) => headers[name] !== undefined)) return false;
  // Ranges of the back end's bytes would not fit the compressed ones.
  if (/\bbytes\b/i.test(textOf(headers['accept-ranges']))) return false;
  if (/\bno-transform\b/i.test(textOf(headers['cache-control']))) return false;
  // Made weak it would be honest, but If-Match never matches a weak one (RFC 9110 section 13.1.1): writes would fail.
  if (headers['etag'] !== undefined && !textOf(headers['etag']).startsWith('W/')) return false;
  return isCompressible(textOf(headers['content-type']));
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? ''].flat().join(', ');
}
