// The parts that the programs of all systems share: the step's call to the back end, an HTTP server, and the shutdown.

import { createServer } from 'node:http';
import { Pool } from 'undici';

const backEnd = new Pool(process.env.BENCH_BACK_END ?? 'http://127.0.0.1:0', { connections: 128, pipelining: 1 });

/** The durable step of every system: fetches one movie from the back end. @throws Error for any status but 200 */
export async function fetchMovie(title) {
  const response = await backEnd.request({ method: 'GET', path: `/movies/${title}` });
  if (response.statusCode !== 200) throw new Error(`the back end responded with ${response.statusCode}`);
  return response.body.json();
}

/** Serves HTTP on a free port of 127.0.0.1 and returns its URL. */
export async function serveHttp(handler) {
  const server = createServer(handler);
  server.keepAliveTimeout = 120_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

/** Tells the bench that the program is ready. The program ends with the bench, or when the bench asks it to. */
export function reportReady(ready) {
  process.send({ type: 'ready', ready });
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
}
