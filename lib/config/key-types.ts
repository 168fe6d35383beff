// Types of configuration keys with their units: what the schema is written in.

import { type Static, type TSchema, Type } from 'typebox';

/** Gives a key its default; a key without one is optional. */
export const withDefault = <T extends TSchema>(type: T, value: Static<T>) => ({ ...type, default: value });

/** Optional; `port` has a default. */
export const optionalPort = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, description: `${description} (TCP port; 0 = any free one)` });
export const port = (description: string, value: number) => withDefault(optionalPort(description), value);
export const milliseconds = (description: string, value: number) =>
  withDefault(Type.Integer({ minimum: 1, description: `${description} (milliseconds)` }), value);
/** 0 switches it off: the description says what that means. */
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
/** Base URL of a back end, behind which the client's path is put: no credentials, query or fragment. */
export const backEndUrl = (description: string) => Type.String({ format: 'back-end-url', description });
export const urls = (description: string, value: string[]) =>
  withDefault(
    Type.Array(Type.String({ format: 'http-url' }), { minItems: 1, description: `${description} (comma-separated)` }),
    value,
  );
export const secret = (description: string) => Type.String({ minLength: 1, description, secret: true });
export const days = (description: string, value: number) => count(`${description} (days)`, value);
