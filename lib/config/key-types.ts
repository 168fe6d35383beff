// Builders for the types of configuration keys, with units and defaults.

import { type Static, type TSchema, Type } from 'typebox';

/** Adds a default. A key without a default is optional. */
export const withDefault = <T extends TSchema>(type: T, value: Static<T>) => ({ ...type, default: value });

/** A TCP port without a default. */
export const optionalPort = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, description: `${description} (TCP port; 0 = any free one)` });
export const port = (description: string, value: number) => withDefault(optionalPort(description), value);
export const milliseconds = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, description: `${description} (milliseconds)` }), value);
/** A duration; 0 switches the feature off, and the description says what that means. */
export const millisecondsOrOff = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 0, description: `${description} (milliseconds)` }), value);
export const percent = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, maximum: 100, description: `${description} (percent)` }), value);
export const seconds = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 0, description: `${description} (seconds)` }), value);
export const bytes = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, description: `${description} (bytes)` }), value);
export const count = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, description }), value);
export const list = (description: string, value: string[]) =>
  withDefault(Type.Array(Type.String({ minLength: 1 }), { description: `${description} (comma-separated)` }), value);
export const clientList = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description: `${description} (comma-separated)` });
export const clientCount = (description: string) => Type.Integer({ minimum: 1, description });
export const text = (description: string) => Type.String({ minLength: 1, description });
export const url = (description: string) => Type.String({ format: 'http-url', description });
/** Base URL of a back end, to which the client's path is appended: no credentials, query or fragment. */
export const backEndUrl = (description: string) => Type.String({ format: 'back-end-url', description });
export const urls = (description: string, value: string[]) =>
  withDefault(
    Type.Array(Type.String({ format: 'http-url' }), { minItems: 1, description: `${description} (comma-separated)` }),
    value,
  );
export const secret = (description: string) => Type.String({ minLength: 1, description, secret: true });
export const days = (description: string, value: number) => count(`${description} (days)`, value);
