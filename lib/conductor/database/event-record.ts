// Parses the engine's event records (`event_execution.json_data`) without their payload.

import { callerOf } from '../executions/caller.ts';
import { responseStatusOf } from '../executions/find-executions.ts';
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

/** Parses an event record. @throws SyntaxError when the text is not JSON */
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

/** Returns the source of a skipped event. Only the records of skipped events contain the payload, as text. */
function sourceOf(message: unknown): Pick<EventRecord, 'source' | 'method' | 'responseStatus'> {
  const payload = parsePayload(message);
  const source = payload['workflowInstanceId'];
  const { method } = callerOf(payload);
  const responseStatus = responseStatusOf(payload);
  return {
    ...(typeof source === 'string' ? { source } : {}),
    ...(method === undefined ? {} : { method }),
    ...(responseStatus === undefined ? {} : { responseStatus }),
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
