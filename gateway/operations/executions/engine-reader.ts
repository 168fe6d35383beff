// Gives the pages read-only access to the engine: only GET requests, few connections, and a deadline for each page.

import type { ServerResponse } from 'node:http';
import { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionReader } from '#lib/conductor/executions/find-executions.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';

/** Time limit for all calls of one page, in milliseconds. */
const pageMs = 10_000;
/** Number of connections to each engine server. It limits the load that all open pages together cause. */
const connections = 2;

/** Creates readers of executions for the pages. */
export interface EngineReaders {
  /**
   * Returns a reader for one response. Its calls are aborted when the client disconnects or the deadline of the page
   * passes.
   */
  open(response: ServerResponse): ExecutionReader;
  close(): Promise<void>;
}

/** Creates the readers. No connection is opened before the first call. */
export function createEngineReaders(config: Pick<Config, 'conductor.url' | 'conductor.timeoutMs'>): EngineReaders {
  const timeoutMs = Math.min(config['conductor.timeoutMs'], pageMs / 2);
  const engine = new Engine({ url: config['conductor.url'], timeoutMs, connections });
  return {
    open(response) {
      const ending = new AbortController();
      const deadline = setTimeout(() => ending.abort(), pageMs);
      response.once('close', () => {
        clearTimeout(deadline);
        ending.abort();
      });
      return new ExecutionApi(readOnly((request) => engine.request({ ...request, signal: ending.signal })));
    },
    close: () => engine.close(),
  };
}

/** Wraps a request function so that it sends only GET requests. */
export function readOnly(call: SendRequest): SendRequest {
  return async (request) => {
    if (request.method === 'GET') return call(request);
    throw new EngineError('refused', `${request.method} is not allowed here: these pages are read-only`);
  };
}
