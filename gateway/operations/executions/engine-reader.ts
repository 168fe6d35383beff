// The pages' read-only access to the engine: GET only, few connections, a deadline for each page.

import type { ServerResponse } from 'node:http';
import { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionReader } from '#lib/conductor/executions/find-executions.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';

/** Time for all calls of one page, in milliseconds. */
const pageMs = 10_000;
/** Connections to each server of the engine: they limit what all open pages together cost the engine. */
const connections = 2;

/** Creates readers of executions for the pages. */
export interface EngineReaders {
  /** Returns a reader for one response. Its calls end when the client goes away or at the deadline of the page. */
  open(response: ServerResponse): ExecutionReader;
  close(): Promise<void>;
}

/** Creates the readers. No connection is made before the first call. */
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
