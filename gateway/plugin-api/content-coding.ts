// Content codings of answers (RFC 9110 section 8.4): which one a client accepts, and the compressing itself.

import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import compressible from 'compressible';
import Negotiator from 'negotiator';

/** What the router writes, the better one first. */
export const codings = ['br', 'gzip'] as const;

export type Coding = (typeof codings)[number];

/** Since 1.0 it takes a preference for what the client likes equally; its types do not say so yet. */
interface PreferringNegotiator {
  encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined;
}

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);
/**
 * Of 0 to 11, for answers that somebody waits for. Measured on 6.8 MB of JSON: 2 takes 119 ms and leaves 24 %, the usual 4
 * 483 ms and 24 %, gzip 286 ms and 26 %.
 */
const quickQuality = 2;

/** The coding to answer with: the one the client prefers, `br` where it has no preference; undefined for none. */
export function chooseCoding({ headers }: Pick<IncomingMessage, 'headers'>): Coding | undefined {
  // Without the field anything may be sent (section 12.5.3), but who does not ask for it may not expect it.
  if (headers['accept-encoding'] === undefined) return undefined;
  const negotiator = new Negotiator({ headers }) as PreferringNegotiator;
  const chosen = negotiator.encoding([...codings, 'identity'], { preferred: codings });
  return codings.find((coding) => coding === chosen);
}

/** Whether bodies of this content type become smaller. */
export function isCompressible(contentType: string): boolean {
  return compressible(contentType) === true;
}

/** Compresses in a thread of its own. @param brotliQuality 0 to 11: more takes longer */
export function compressBody(body: Buffer, coding: Coding, brotliQuality = quickQuality): Promise<Buffer> {
  if (coding === 'gzip') return toGzip(body);
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  return toBrotli(body, { params });
}

/** `Vary` with one more field name (section 12.5.5). */
export function varyBy(vary: string | readonly string[] | undefined, name: string): string {
  const names = [vary ?? []].flat().flatMap((value) => value.split(',').map((part) => part.trim()));
  const given = names.filter((part) => part !== '');
  if (given.includes('*')) return '*';
  return given.some((part) => part.toLowerCase() === name.toLowerCase())
    ? given.join(', ')
    : [...given, name].join(', ');
}
