// The request and the answer of an execution, for an operator who asked for them: they tell who a person is.

import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { Config } from '#lib/config/schema.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { printable } from '../colours.ts';

interface Side {
  readonly title: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

export interface ShownPayload {
  readonly lines: readonly string[];
  readonly json: Readonly<Record<string, unknown>>;
}

/** Bodies that are no text are named by their size. What cannot be read says why. */
export function readPayload({ workflowId, input, output }: WholeExecution, config: Config): ShownPayload {
  const codec = createPayloadCodec(config);
  const request = side('request', () => {
    const { httpMethod, path, query, headers, body } = codec.unpackInbound(input['inbound']);
    return { title: `${httpMethod} ${path}${query === undefined ? '' : `?${query}`}`, headers, body };
  });
  const answer = side('answer', () => {
    const { status, headers, body } = codec.unpackOutbound(output['outbound'], workflowId);
    return { title: String(status), headers, body };
  });
  return {
    lines: [...request.lines, '', ...answer.lines],
    json: { request: request.json, answer: answer.json },
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
    return `(${body.length} bytes that are no text)`;
  }
}
