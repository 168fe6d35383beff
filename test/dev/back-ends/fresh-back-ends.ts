// Back-end stand-ins with separate state, and functions to call them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBackEnds } from '../../../dev/back-ends/start-back-ends.ts';

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export async function startFreshBackEnds() {
  const stateDir = mkdtempSync(join(tmpdir(), 'back-ends-'));
  let backEnds = await startBackEnds({ port: 0, stateDir });
  const call = async (
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Called> => {
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
    /** Sends a call; `body` is sent as JSON text. */
    call,
    get: (path: string) => call('GET', path),
    /** Stops the stand-ins and starts new ones with the same state. */
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

export type FreshBackEnds = Awaited<ReturnType<typeof startFreshBackEnds>>;
