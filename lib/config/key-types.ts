// Builds the types of configuration keys, with units and defaults.

import type { Static, TSchema } from 'typebox';
import { Type } from '#lib/json/json-schema.ts';

/** Adds a default. A key without a default is optional. */
export const withDefault = <T extends TSchema>(type: T, value: Static<T>) => ({ ...type, default: value });

/** A TCP port without a default. */
export const optionalPort = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, description: `${description} (TCP port; 0 = any free one)` });
/** A TCP port; 0 lets the operating system choose a free one. */
export const port = (description: string, value: number) => withDefault(optionalPort(description), value);
/**
 * Longest duration in milliseconds. Node's timers fire at once beyond 2^31 - 1 ms, and some timers wait for the sum of
 * two durations.
 */
export const longestMs = 1_000_000_000;
/** A duration in milliseconds, at least 1. */
export const milliseconds = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, maximum: longestMs, description: `${description} (milliseconds)` }), value);
/** A duration in milliseconds. 0 turns the feature off; the description explains the effect. */
export const millisecondsOrOff = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 0, maximum: longestMs, description: `${description} (milliseconds)` }), value);
/** A percentage from 1 to 100. */
export const percent = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, maximum: 100, description: `${description} (percent)` }), value);
/** A duration in whole seconds; 0 is allowed. */
export const seconds = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 0, description: `${description} (seconds)` }), value);
/** A size in bytes, at least 1. */
export const bytes = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, description: `${description} (bytes)` }), value);
/** A number of things, at least 1. */
export const count = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, description }), value);
/** A comma-separated list of non-empty strings. */
export const list = (description: string, value: string[]) =>
  withDefault(Type.Array(Type.String({ minLength: 1 }), { description: `${description} (comma-separated)` }), value);
/** A comma-separated list without a default, for keys `client.<client id>.…`. */
export const clientList = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description: `${description} (comma-separated)` });
/** A number of things, at least 1, without a default. */
export const optionalCount = (description: string) => Type.Integer({ minimum: 1, description });
/** A non-empty text without a default. */
export const text = (description: string) => Type.String({ minLength: 1, description });
/** An http or https URL without a default. */
export const url = (description: string) => Type.String({ format: 'http-url', description });
/** A task domain that workers may poll. */
export const taskDomain = (description: string) => Type.String({ format: 'task-domain', description });
/** The base URL of a back end, to which the client's path is appended: no credentials, query or fragment. */
export const backEndUrl = (description: string) => Type.String({ format: 'back-end-url', description });
/** A comma-separated list of at least one http or https URL without a path. */
export const origins = (description: string, value: string[]) =>
  withDefault(
    Type.Array(Type.String({ format: 'http-origin' }), {
      minItems: 1,
      description: `${description} (comma-separated)`,
    }),
    value,
  );
/** A non-empty text that is never printed or logged; without a default. */
export const secret = (description: string) => Type.String({ minLength: 1, description, secret: true });
/** A duration in whole days, at least 1. */
export const days = (description: string, value: number) => count(`${description} (days)`, value);
