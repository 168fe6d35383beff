// `service-router/plugin`: exports the API for the plugins of a gateway.

export { Type } from 'typebox';
export * from './plugin-api.ts';
export { callerOf } from './client-address.ts';
export { readBody } from './read-body.ts';
export { signalWhenGone } from './signal-when-gone.ts';
export type { ProblemCode } from '#lib/problem/catalogue.ts';
export { Problem, type ProblemOptions } from '#lib/problem/problem.ts';
export type { Config } from '#lib/config/schema.ts';
