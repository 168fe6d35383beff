// The connection pools of undici, without the rest of its 109 modules, which every program would otherwise load.

import { createRequire } from 'node:module';
import type undici from 'undici';

const require = createRequire(import.meta.url);
type Undici = typeof undici;

// As undici's index.js does: adds `request` and similar methods to every dispatcher.
const Dispatcher = require('undici/lib/dispatcher/dispatcher.js') as Undici['Dispatcher'];
Object.assign(Dispatcher.prototype, require('undici/lib/api/index.js'));

/** Connections to one origin. */
export const Pool = require('undici/lib/dispatcher/pool.js') as Undici['Pool'];
export type Pool = InstanceType<typeof Pool>;
/** Connections to any origin. */
export const Agent = require('undici/lib/dispatcher/agent.js') as Undici['Agent'];
export type Agent = InstanceType<typeof Agent>;

/**
 * Options of every pool and agent: a connection has one call at a time, with HTTP/1.1. A call that ends at its deadline
 * then closes its connection. With HTTP/2, which many TLS load balancers prefer, it would close only its stream: a
 * connection that was lost silently would get all calls until TCP gives up, which takes about 15 minutes.
 */
export const oneCallPerConnection = { allowH2: false, pipelining: 1 } as const;
