// Defines the type of each member of a task result, because the engine responds with status 500 to a member of the
// wrong type.

import { isJsonObject } from '#lib/json/json-object.ts';

/** The type of a member. */
interface MemberType {
  /** What a value must be, as the end of a sentence. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
}

type Fields = Readonly<Record<string, unknown>>;
/** The types of an object's members. Any of them may be missing or null, and other members are ignored. */
type Members = Readonly<Record<string, MemberType>>;

/**
 * The engine converts numbers and booleans to text. For an OSError, Conductor's Python SDK sends a number as the
 * reason.
 */
const text: MemberType = {
  expected: 'a string',
  accepts: (value) => ['string', 'number', 'boolean'].includes(typeof value),
};
/** The engine accepts numbers as strings, treats an empty string as 0, and cuts off the fraction of a number. */
const integer: MemberType = {
  expected: 'an integer',
  accepts(value) {
    const isNumeric = typeof value === 'number' || (typeof value === 'string' && /^(?:[+-]?\d+)?$/.test(value));
    return isNumeric && Number.isSafeInteger(toInteger(value));
  },
};
/**
 * The engine also treats 1 and "true" as true. These are refused, so that the router and the engine cannot disagree on
 * whether a result extends the lease. Every value that the engine treats as false is accepted.
 */
const boolean: MemberType = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean' || value === 0 || value === 'false' || value === '',
};
const object: MemberType = { expected: 'an object', accepts: isJsonObject };

const logMembers: Members = { log: text, taskId: text, createdTime: integer };
const logs: MemberType = {
  expected: 'a list of objects with log, taskId and createdTime',
  // The engine accepts a string as an entry that has only the member `log`.
  accepts: (value) =>
    Array.isArray(value) && value.every((entry) => typeof entry === 'string' || hasTypes(entry, logMembers)),
};

const metadataMembers: Members = {
  serverSendTime: integer,
  clientReceiveTime: integer,
  executionStartTime: integer,
  executionEndTime: integer,
  clientSendTime: integer,
  pollNetworkLatency: integer,
  updateNetworkLatency: integer,
  additionalContext: object,
};
const metadata: MemberType = {
  expected: 'an object with integers and an additionalContext',
  accepts: (value) => hasTypes(value, metadataMembers),
};

/** The members of Conductor's `TaskResult`, except those that a result must have and those that a worker cannot set. */
const resultMembers: Members = {
  workerId: text,
  reasonForIncompletion: text,
  callbackAfterSeconds: integer,
  outputData: object,
  // Listed although a worker cannot set it, because the engine fails on an empty string here. SDKs may send an empty
  // string for each of the other members that a worker cannot set.
  outputMessage: object,
  logs,
  extendLease: boolean,
  supportsCancellation: boolean,
  executionMetadata: metadata,
};

/** Returns which member of a task result has a value of the wrong type, as a sentence; undefined when none has. */
export function problemOfMembers(result: Fields): string | undefined {
  const name = findWrong(result, resultMembers);
  return name === undefined ? undefined : `${name} of a task result must be ${resultMembers[name]?.expected}.`;
}

/** Converts the value of a member of the type `integer` as the engine does. */
export function toInteger(value: unknown): number {
  return Math.trunc(Number(value));
}

/** Returns the name of the first member whose value has the wrong type. */
function findWrong(fields: Fields, members: Members): string | undefined {
  return Object.keys(members).find((name) => fields[name] != null && members[name]?.accepts(fields[name]) === false);
}

function hasTypes(value: unknown, members: Members): boolean {
  return isJsonObject(value) && findWrong(value, members) === undefined;
}
