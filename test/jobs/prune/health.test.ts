// Tests of the prune program's health endpoint: not ready after a failed round, ready after a successful one.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { pollUntil } from '../../stack/poll-until.ts';
import { type Program, startProgram } from '../../stack/program.ts';

let pruner: Program | undefined;
afterEach(() => pruner?.stop());

const start = async (env: Record<string, string>) => {
  pruner = await startProgram('jobs/prune/main.ts', { CONDUCTOR_DATABASEURL: '', PRUNE_HEALTHPORT: '0', ...env });
  const url = `${String(pruner.ready['healthUrl'])}/health/ready`;
  return async () => {
    const answer = await fetch(url);
    return { status: answer.status, body: (await answer.json()) as { reasons: Record<string, string[]> } };
  };
};

it('returns 503 with the reason while the engine is unavailable, then 200', async () => {
  const port = await findFreePort();
  const health = await start({ CONDUCTOR_URL: `http://127.0.0.1:${port}`, PRUNE_INTERVALSECONDS: '1' });
  await pollUntil('a failed round', async () => (await health()).status === 503);
  expect((await health()).body.reasons).toEqual({ pruner: [expect.stringContaining('ECONNREFUSED')] });

  // A fake engine with an empty index. Like every engine with an index, it rejects a malformed query.
  const engine = createServer(({ url }, response) => {
    response.statusCode = url?.includes('query=indexed') ? 400 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(url?.includes('/search') ? '{"totalHits":0,"results":[]}' : '[]');
  }).listen(port, '127.0.0.1');
  try {
    await pollUntil('a successful round', async () => (await health()).status === 200);
    expect((await health()).body.reasons).toEqual({});
  } finally {
    engine.close();
    engine.closeAllConnections();
  }
});

it('returns 200 when pruning is disabled', async () => {
  const health = await start({ CONDUCTOR_URL: 'http://127.0.0.1:1', PRUNE_INTERVALSECONDS: '0' });
  expect((await health()).status).toBe(200);
});

it('does not start on a port in use and names the configuration key', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  try {
    const { port } = taken.address() as { port: number };
    const starting = startProgram('jobs/prune/main.ts', { PRUNE_HEALTHPORT: String(port) });
    await expect(starting).rejects.toThrow(/cannot listen on 127\.0\.0\.1:\d+ \(ops\.host, prune\.healthPort\)/);
  } finally {
    taken.close();
  }
});
