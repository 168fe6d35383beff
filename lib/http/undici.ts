// Loads the connection pools of undici without the rest of its 109 modules, which every program would otherwise load.

import { createRequire } from 'node:module';
import type undici from 'undici';

const require = createRequire(import.meta.url);
type Undici = typeof undici;

// Adds `request` and similar methods to every dispatcher, as undici's index.js does.
const Dispatcher = require('undici/lib/dispatcher/dispatcher.js') as Undici['Dispatcher'];
Object.assign(Dispatcher.prototype, require('undici/lib/api/index.js'));

/** Connections to one origin. */
export const Pool = require('undici/lib/dispatcher/pool.js') as Undici['Pool'];
export type Pool = InstanceType<typeof Pool>;
/** Connections to any origin. */
export const Agent = require('undici/lib/dispatcher/agent.js') as Undici['Agent'];
export type Agent = InstanceType<typeof Agent>;

/**
 * Options for every pool and agent: HTTP/1.1 with one call at a time on a connection, so that a call that ends at its
 * deadline closes its connection. With HTTP/2, which many TLS load balancers prefer, such a call would close only its
 * stream. A silently lost connection would then get all calls until TCP gives up, which takes about 15 minutes.
 */
export const oneCallPerConnection = { allowH2: false, pipelining: 1 } as const;
