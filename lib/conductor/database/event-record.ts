// Reads what the engine keeps of an event (`event_execution.json_data`), and leaves out the payload.

import { callerOf } from '../executions/caller.ts';
import { answeredOf } from '../executions/find-executions.ts';
import type { EventRecord } from './database.ts';

interface StoredEvent {
  id?: string;
  messageId?: string;
  name?: string;
  event?: string;
  status?: string;
  /** Milliseconds since 1970. */
  created?: number;
  output?: Record<string, unknown>;
}

/** @throws SyntaxError when it is no JSON */
export function readEventRecord(json: string): EventRecord {
  const {
    id = '',
    messageId = '',
    name = '',
    event = '',
    status = '',
    created = 0,
    output = {},
  } = JSON.parse(json) as StoredEvent;
  const { workflowId, condition, exception, msg } = output;
  return {
    recordId: id,
    handler: name,
    event,
    messageId,
    state: status,
    at: new Date(created).toISOString(),
    ...(typeof workflowId === 'string' ? { started: workflowId } : {}),
    ...(typeof condition === 'string' ? { condition } : {}),
    ...(typeof exception === 'string' ? { failure: exception } : {}),
    ...(status === 'SKIPPED' ? sourceOf(msg) : {}),
  };
}

/** Only a skipped event keeps its payload, as text. */
function sourceOf(message: unknown): Pick<EventRecord, 'source' | 'method' | 'answered'> {
  const payload = parsePayload(message);
  const source = payload['workflowInstanceId'];
  const { method } = callerOf(payload);
  const answered = answeredOf(payload);
  return {
    ...(typeof source === 'string' ? { source } : {}),
    ...(method === undefined ? {} : { method }),
    ...(answered === undefined ? {} : { answered }),
  };
}

function parsePayload(message: unknown): Record<string, unknown> {
  if (typeof message !== 'string') return (message ?? {}) as Record<string, unknown>;
  try {
    return (JSON.parse(message) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}
