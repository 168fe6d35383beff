// Tests that the problem-pages policy parses hostile header fields in linear time.

import { createServer } from 'node:http';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listenOnLoopback, type LoopbackServer } from '../../../dev/loopback-server.ts';
import { createProblemPages, createProblemPagesPolicy } from '../../../plugins/api-docs/problems.ts';
import { call } from '../../stack/client.ts';

let server: LoopbackServer;

beforeAll(async () => {
  const app = express();
  app.get(
    '/problems/:code',
    createProblemPagesPolicy(createProblemPages()).policy({} as never, 'step') as express.RequestHandler,
  );
  server = await listenOnLoopback(createServer({ maxHeaderSize: 2_000_000 }, app));
});
afterAll(() => server.close());

it.each([`a/b;"${';'.repeat(1_000_000)}`, `a/b,"${','.repeat(1_000_000)}`, `a/b;c=${' '.repeat(1_000_000)}"`])(
  'parses an Accept field of 1 MB in linear time; in quadratic time, it would take minutes (%#)',
  async (accept) => {
    const startedAt = performance.now();
    expect((await call(`${server.url}/problems/overloaded`, { headers: { accept } })).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  },
);
