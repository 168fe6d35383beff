// The back end of every target: returns one small JSON document immediately, so that only the path to the back end is
// measured.

import { createServer } from 'node:http';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { runProgram } from '#lib/process/run-program.ts';

const body = JSON.stringify({ title: 'Metropolis', year: 1927, director: 'Fritz Lang', runtimeMinutes: 153 });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

await runProgram('back-end', async () => {
  let requests = 0;
  process.on('message', () => process.send?.({ requests }));
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(200, headers).end(body);
  });
  // Longer than any client keeps an idle connection open.
  server.keepAliveTimeout = 120_000;
  const { url, close } = await listenOnLoopback(server);
  return { ready: { url }, stop: close };
});
