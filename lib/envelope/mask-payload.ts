// Masks the input and output of an execution or a task: the structure is kept, and personal values are replaced.

import { misCodePattern } from '#lib/config/mis-code.ts';
import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';

const name = /^[\w.:@/+-]{1,128}$/;
const id = /^[\w-]{1,64}$/;
const college = new RegExp(`^${misCodePattern}$`);

/**
 * The fields whose values are shown, with the format of each value: fields that payload encryption leaves unencrypted
 * (docs/explanation/security-model.md), and fields that the engine itself adds.
 */
const clearFields: Readonly<Record<string, RegExp>> = {
  httpMethod: /^[A-Z]{1,16}$/,
  route: name,
  clientId: name,
  requestId: id,
  statusCodeValue: /^\d{3}$/,
  mis: college,
  misCode: college,
  college_id: college,
  notificationId: id,
  bodyEncoding: name,
  answeredAt: /^[\dTZ:.+-]{10,40}$/,
  executionId: id,
  sourceExecutionId: id,
  updateId: id,
  backEndMs: /^[\d.]{1,12}$/,
  sink: name,
  event_produced: name,
  workflowInstanceId: id,
  workflowType: id,
  workflowVersion: id,
  subWorkflowId: id,
};

const fieldName = /^[A-Za-z_$][\w$-]{0,63}$/;
const maxDepth = 8;
const maxItems = 25;

/**
 * Returns a copy in which every text and number outside the known fields is replaced by its type and, for a string, its
 * length. Booleans and null are kept. Long lists and deep structures are truncated.
 */
export function maskPayload(value: unknown, depth = 0): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null;
  if (typeof value === 'string') return `‹text, length ${value.length}›`;
  if (typeof value !== 'object') return `‹${typeof value}›`;
  if (depth === maxDepth) return '‹…›';
  if (Array.isArray(value)) {
    const items = value.slice(0, maxItems).map((item) => maskPayload(item, depth + 1));
    return value.length > maxItems ? [...items, `‹${value.length - maxItems} more›`] : items;
  }
  const entries = Object.entries(value);
  const masked = entries.slice(0, maxItems).map(([key, member], index) => {
    const shown = typeof member !== 'object' && isClear(key, String(member));
    return [isFieldName(key) ? key : `‹name ${index + 1}›`, shown ? member : maskPayload(member, depth + 1)];
  });
  if (entries.length > maxItems) masked.push(['‹more›', entries.length - maxItems]);
  return Object.fromEntries(masked) as unknown;
}

function isClear(key: string, text: string): boolean {
  return Object.hasOwn(clearFields, key) && clearFields[key]?.test(text) === true;
}

/** Returns false for a field name that may be personal data: the keys of a map may be the names or ids of persons. */
function isFieldName(key: string): boolean {
  return fieldName.test(key) && scrubText(key) === key;
}
