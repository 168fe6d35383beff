// Back ends with a separate state, and functions to call them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBackEnds } from '../../../dev/back-ends/start-back-ends.ts';

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface FreshBackEnds {
  readonly url: string;
  /** A JSON call; `body` is sent as JSON text. */
  call(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Called>;
  get(path: string): Promise<Called>;
  /** Stops them and starts new ones on the same state. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFreshBackEnds(): Promise<FreshBackEnds> {
  const stateDir = mkdtempSync(join(tmpdir(), 'back-ends-'));
  let backEnds = await startBackEnds({ port: 0, stateDir });
  const call: FreshBackEnds['call'] = async (method, path, { body, headers = {} } = {}) => {
    const sent =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await fetch(`${backEnds.url}${path}`, {
      method,
      ...sent,
      headers: { ...sent.headers, ...headers },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    get url() {
      return backEnds.url;
    },
    call,
    get: (path) => call('GET', path),
    async restart() {
      await backEnds.stop();
      backEnds = await startBackEnds({ port: 0, stateDir });
    },
    async stop() {
      await backEnds.stop();
      rmSync(stateDir, { recursive: true });
    },
  };
}
