// How requests, answers and what MDM says of a person travel through the engine: in clear, or encrypted with `payload.key`.

import type { Config } from '#lib/config/schema.ts';
import { createInbound, type InboundRequest, readInbound, type ReceivedInbound } from '../inbound.ts';
import { type Answer, createOutbound, readOutbound } from '../outbound.ts';
import { decodeText, type EncodedText, encodeText } from '../text.ts';
import { type Binding, decrypt, encrypt } from './jwe.ts';
import { type PayloadKeys, readPayloadKeys } from './payload-keys.ts';
import { PayloadUnreadable } from './payload-unreadable.ts';
import { decodeMessage, encodeMessage } from './sealed-message.ts';

/** Anything that the engine sees as ciphertext; the fields beside it are copies for the engine's own use. */
interface Sealed {
  /** A JWE in compact form. */
  sealed: string;
}

/** A text as the engine gets it: in clear or encrypted, and as JSON where the engine would change it. */
export type PackedText = string | EncodedText | Sealed | { json: Sealed };

/** True for what this codec has encrypted. */
export function isSealed(value: unknown): value is Sealed {
  return typeof (value as Partial<Sealed> | null | undefined)?.sealed === 'string';
}

/** Packs and unpacks what passes through the engine. Reading takes what is in clear and what is encrypted. */
export class PayloadCodec {
  readonly #keys: PayloadKeys;

  constructor(keys: PayloadKeys) {
    this.#keys = keys;
  }

  /**
   * A request for the workflow's input.
   * @param clearParams path parameters that the definitions need; the others are encrypted
   */
  packInbound(request: InboundRequest, clearParams: readonly string[]): object {
    const { active } = this.#keys;
    if (active === null) return createInbound(request);
    const { body, query, traceparent, ...fields } = request;
    const { httpMethod, params, requestId, clientId, route } = fields;
    const clear = Object.fromEntries(Object.entries(params).filter(([name]) => clearParams.includes(name)));
    const plaintext = encodeMessage({ ...fields, ...(query === undefined ? {} : { query }) }, body);
    const sealed = encrypt(plaintext, bindInbound(requestId), active);
    // Random ids that say nothing of the request: whoever works on the task can follow the trace without the key.
    const trace = traceparent === undefined ? {} : { traceparent };
    return { httpMethod, params: clear, requestId, clientId, route, ...trace, sealed };
  }

  /**
   * The request in a task's input.
   * @throws PayloadUnreadable, TypeError when it is no request, RangeError when the body is larger than `maxBodyBytes`
   */
  unpackInbound(value: unknown, maxBodyBytes?: number): ReceivedInbound {
    if (!isSealed(value)) return readInbound(value, maxBodyBytes);
    const clear = value as Sealed & Partial<ReceivedInbound>;
    const plaintext = decrypt(clear.sealed, bindInbound(String(clear.requestId)), this.#keys);
    const { fields, body } = decodeMessage<Omit<ReceivedInbound, 'body'>>(plaintext, maxBodyBytes);
    expectSame([clear.httpMethod, clear.requestId], [fields.httpMethod, fields.requestId]);
    return { ...fields, body };
  }

  /**
   * An answer for the output of the execution. It is encrypted when the request was, so that workers can be given the
   * key before the router.
   * @param inbound the request as it came out of the engine
   */
  packOutbound(answer: Answer, { inbound, executionId }: { inbound: unknown; executionId: string }): object {
    const { active } = this.#keys;
    if (active === null || !isSealed(inbound)) return createOutbound(answer);
    const { status: statusCodeValue, headers, body } = answer;
    const plaintext = encodeMessage({ statusCodeValue, headers }, body);
    return { statusCodeValue, sealed: encrypt(plaintext, bindOutbound(executionId), active) };
  }

  /**
   * The answer in the output of the execution.
   * @throws PayloadUnreadable, TypeError when it is no answer, RangeError when the body is larger than `maxBodyBytes`
   */
  unpackOutbound(value: unknown, executionId: string, maxBodyBytes?: number): Answer {
    if (!isSealed(value)) return readOutbound(value, maxBodyBytes);
    const clear = value as Sealed & { statusCodeValue?: unknown };
    const plaintext = decrypt(clear.sealed, bindOutbound(executionId), this.#keys);
    const { fields, body } = decodeMessage<{ statusCodeValue: number }>(plaintext, maxBodyBytes);
    expectSame([clear.statusCodeValue], [fields.statusCodeValue]);
    return { ...readOutbound(fields), body };
  }

  /**
   * One text, such as a person's key, for an event or a workflow that is started by one. It is encrypted when the request
   * was.
   * @param inbound the request as it came out of the engine
   */
  packText(text: string, { binding, inbound }: { binding: Binding; inbound: unknown }): PackedText {
    const { active } = this.#keys;
    const encoded = encodeText(text);
    if (active === null || !isSealed(inbound)) return encoded;
    const seal = (plaintext: string): Sealed => ({ sealed: encrypt(Buffer.from(plaintext), binding, active) });
    return typeof encoded === 'string' ? seal(encoded) : { json: seal(encoded.json) };
  }

  /** @throws PayloadUnreadable */
  unpackText(value: unknown, binding: Binding): string {
    const open = (part: unknown) =>
      isSealed(part) ? decrypt(part.sealed, binding, this.#keys).toString('utf8') : String(part);
    const { json } = Object(value) as { json?: unknown };
    return json === undefined ? open(value) : decodeText(open(json));
  }
}

/** @throws ConfigError when two keys have one id */
export function createPayloadCodec(config: Pick<Config, 'payload.key' | 'payload.decryptionKeys'>): PayloadCodec {
  return new PayloadCodec(readPayloadKeys(config));
}

const bindInbound = (requestId: string): Binding => ({ contentType: 'inbound', subject: requestId });
const bindOutbound = (executionId: string): Binding => ({ contentType: 'outbound', subject: executionId });

/** The engine decides by the copies in clear: an answer of 500 must not pass as one of 200. */
function expectSame(clear: readonly unknown[], sealed: readonly unknown[]): void {
  if (clear.some((value, index) => value !== sealed[index]))
    throw new PayloadUnreadable('the fields beside it were changed');
}
