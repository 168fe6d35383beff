// Decodes the request and the response of an execution for `--payload`. Both may hold personal data.

import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { Config } from '#lib/config/schema.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { printable } from '../../output/colours.ts';
import { withDeprecatedMembers } from '../../output/deprecated-members.ts';

interface Side {
  readonly title: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Request and response as text and as JSON. */
export interface ShownPayload {
  readonly lines: readonly string[];
  readonly json: Readonly<Record<string, unknown>>;
}

/**
 * Decodes the request and the response. For a binary body, only the size is shown. If one of the two cannot be decoded,
 * the reason is shown in its place.
 */
export function readPayload({ workflowId, input, output }: WholeExecution, config: Config): ShownPayload {
  const codec = createPayloadCodec(config);
  const request = side('request', () => {
    const { httpMethod, path, query, headers, body } = codec.unpackInbound(input['inbound']);
    return { title: `${httpMethod} ${path}${query === undefined ? '' : `?${query}`}`, headers, body };
  });
  const response = side('response', () => {
    const { status, headers, body } = codec.unpackOutbound(output['outbound'], workflowId);
    return { title: String(status), headers, body };
  });
  return {
    lines: [...request.lines, '', ...response.lines],
    json: withDeprecatedMembers({ request: request.json, response: response.json }),
  };
}

function side(name: string, read: () => Side): { lines: string[]; json: Record<string, unknown> } {
  try {
    const { title, headers, body } = read();
    const text = textOf(body);
    const fields = Object.entries(headers).map(([field, value]) => `  ${field}: ${printable(String(value))}`);
    return {
      lines: [`${name}  ${printable(title)}`, ...fields, ...text.split('\n').map((line) => `  ${printable(line)}`)],
      json: { title, headers, body: text },
    };
  } catch (error) {
    const reason = (error as Error).message;
    return { lines: [`${name}  cannot be read: ${printable(reason)}`], json: { problem: reason } };
  }
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return `(${body.length} bytes that are not text)`;
  }
}
