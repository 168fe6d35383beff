// Encodes requests, responses and MDM data for the engine: unencrypted, or encrypted with `payload.key`.

import type { Config } from '#lib/config/schema.ts';
import { createInbound, type Inbound, type InboundRequest, readInbound, type ReceivedInbound } from '../inbound.ts';
import { type BackEndResponse, createOutbound, readOutbound } from '../outbound.ts';
import { decodeText, type EncodedText, encodeText } from '../text.ts';
import { type Binding, decrypt, encrypt } from './jwe.ts';
import { type PayloadKeys, readPayloadKeys } from './payload-keys.ts';
import { PayloadUnreadable } from './payload-unreadable.ts';
import { decodeMessage, encodeMessage } from './sealed-message.ts';

/** An encrypted value. The fields next to `sealed` are unencrypted copies for the definitions in the engine. */
interface Sealed {
  /** A JWE in compact serialization (RFC 7516). */
  sealed: string;
}

/** A text as the engine stores it: unencrypted or encrypted, and JSON-escaped where the engine would change it. */
export type PackedText = string | EncodedText | Sealed | { json: Sealed };

/** Returns true for a value in the encrypted form. Does not decrypt or verify the value. */
function isSealed(value: unknown): value is Sealed {
  return typeof (value as Partial<Sealed> | null | undefined)?.sealed === 'string';
}

/** Requirements for a decoded response. */
export interface ExpectedResponse {
  maxBodyBytes?: number | undefined;
  clientId?: string | undefined;
}

/** Encodes and decodes payloads. Decoding accepts both unencrypted and encrypted payloads. */
export class PayloadCodec {
  readonly #keys: PayloadKeys;

  constructor(keys: PayloadKeys) {
    this.#keys = keys;
  }

  /**
   * Encodes a request for the workflow's input.
   * @param clearParams names of the path parameters that stay unencrypted, because definitions use them
   */
  packInbound(request: InboundRequest, clearParams: readonly string[]): object {
    const { active } = this.#keys;
    if (active === null) return createInbound(request);
    const { body, query, traceparent, ...fields } = request;
    const { httpMethod, params, requestId, clientId, route } = fields;
    const clear = Object.fromEntries(Object.entries(params).filter(([name]) => clearParams.includes(name)));
    const plaintext = encodeMessage({ ...fields, ...(query === undefined ? {} : { query }) }, body);
    const sealed = encrypt(plaintext, bindInbound(requestId), active);
    // Trace ids are random and reveal nothing about the request. Left unencrypted, they allow tracing without the key.
    const trace = traceparent === undefined ? {} : { traceparent };
    return { httpMethod, params: clear, requestId, clientId, route, ...trace, sealed };
  }

  /**
   * Decodes the request in a task's input.
   * @throws PayloadUnreadable, TypeError when the value is not a request, RangeError when the body is larger than
   *   `maxBodyBytes`
   */
  unpackInbound(value: unknown, maxBodyBytes?: number): ReceivedInbound {
    if (!isSealed(value)) return readInbound(value, maxBodyBytes);
    const clear = value as Sealed & Partial<Inbound>;
    const plaintext = decrypt(clear.sealed, bindInbound(String(clear.requestId)), this.#keys);
    const { fields, body } = decodeMessage<Omit<ReceivedInbound, 'body'>>(plaintext, maxBodyBytes);
    expectSame(copiesOf(clear), copiesOf(fields));
    return { ...fields, body };
  }

  /**
   * Encodes a response for the output of the execution. The response is encrypted only if the request is, so that
   * operators can give the key to the workers before they give it to the router.
   * @param inbound the encoded request from the engine; its `clientId` was verified when the request was decoded
   */
  packOutbound(response: BackEndResponse, { inbound, executionId }: { inbound: unknown; executionId: string }): object {
    const { active } = this.#keys;
    if (active === null || !isSealed(inbound)) return createOutbound(response);
    const { status: statusCodeValue, headers, body } = response;
    const { clientId } = inbound as Sealed & Partial<Inbound>;
    const plaintext = encodeMessage({ statusCodeValue, headers, clientId }, body);
    return { statusCodeValue, sealed: encrypt(plaintext, bindOutbound(executionId), active) };
  }

  /**
   * Decodes the response in the output of the execution.
   * @param expected `maxBodyBytes`: largest body; `clientId`: the client to which an encrypted response must belong. A
   *   response without a client is accepted, because responses of earlier versions and of workers in other languages
   *   have none.
   * @throws PayloadUnreadable, TypeError when the value is not a response, RangeError when the body is larger than
   *   `maxBodyBytes`
   */
  unpackOutbound(value: unknown, executionId: string, expected: ExpectedResponse = {}): BackEndResponse {
    const { maxBodyBytes, clientId } = expected;
    if (!isSealed(value)) return readOutbound(value, maxBodyBytes);
    const { sealed, statusCodeValue } = value as Sealed & { statusCodeValue?: unknown };
    const plaintext = decrypt(sealed, bindOutbound(executionId), this.#keys);
    const { fields, body } = decodeMessage<{ statusCodeValue: number; clientId?: string }>(plaintext, maxBodyBytes);
    expectSame([statusCodeValue], [fields.statusCodeValue]);
    if (clientId !== undefined && fields.clientId !== undefined && fields.clientId !== clientId)
      throw new PayloadUnreadable('it belongs to another client');
    return { ...readOutbound(fields), body };
  }

  /**
   * Returns the client whose request led to an encrypted response, as stated in the ciphertext of the request;
   * undefined when the response is not encrypted.
   * @param encoded the request and the response from the engine
   * @throws PayloadUnreadable when the request was changed or replaced
   */
  verifiedClient({ inbound, outbound }: { inbound: unknown; outbound: unknown }): string | undefined {
    if (!isSealed(outbound)) return undefined;
    if (!isSealed(inbound)) throw new PayloadUnreadable('it is not encrypted');
    return this.unpackInbound(inbound).clientId;
  }

  /**
   * Encodes one text, such as a person's key, for an event or for the workflow that the event starts. The text is
   * encrypted only if the request is.
   * @param inbound the encoded request from the engine
   */
  packText(text: string, { binding, inbound }: { binding: Binding; inbound: unknown }): PackedText {
    const { active } = this.#keys;
    const encoded = encodeText(text);
    if (active === null || !isSealed(inbound)) return encoded;
    const seal = (plaintext: string): Sealed => ({ sealed: encrypt(Buffer.from(plaintext), binding, active) });
    return typeof encoded === 'string' ? seal(encoded) : { json: seal(encoded.json) };
  }

  /**
   * Reverses {@link packText}; returns undefined for a value that is not a packed text.
   * @throws PayloadUnreadable, TypeError when a JSON-escaped text is malformed
   */
  unpackText(value: unknown, binding: Binding): string | undefined {
    const open = (part: unknown) => {
      if (isSealed(part)) return decrypt(part.sealed, binding, this.#keys).toString('utf8');
      return typeof part === 'string' ? part : undefined;
    };
    const { json } = Object(value) as { json?: unknown };
    return json === undefined ? open(value) : decodeText(open(json) ?? '');
  }
}

/** Returns a codec with the configured keys. @throws ConfigError when two different keys have the same id */
export function createPayloadCodec(config: Pick<Config, 'payload.key' | 'payload.decryptionKeys'>): PayloadCodec {
  return new PayloadCodec(readPayloadKeys(config));
}

/** Returns the values of the request fields that also have unencrypted copies. */
function copiesOf({ httpMethod, requestId, clientId, route }: Partial<Inbound>): unknown[] {
  return [httpMethod, requestId, clientId, route];
}

const bindInbound = (requestId: string): Binding => ({ contentType: 'inbound', subject: requestId });
const bindOutbound = (executionId: string): Binding => ({ contentType: 'outbound', subject: executionId });

/**
 * Verifies the unencrypted copies, because decisions depend on them: a response with status 500 must not pass as 200,
 * and the response must go to the client of the request.
 */
function expectSame(clear: readonly unknown[], sealed: readonly unknown[]): void {
  if (clear.some((value, index) => value !== sealed[index]))
    throw new PayloadUnreadable('its unencrypted fields were changed');
}
