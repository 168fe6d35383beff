// A load balancer without affinity: each request goes to the router with the fewest open requests, as with HAProxy's
// leastconn.

import { Agent, createServer, request as httpRequest } from 'node:http';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { runProgram } from '#lib/process/run-program.ts';

const routers = (process.env['BENCH_ROUTERS'] ?? '').split(',').map((url) => ({ target: new URL(url), open: 0 }));
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
let last = routers[0];

await runProgram('load-balancer', async () => {
  const server = createServer((incoming, response) => {
    const [router] = routers.toSorted((a, b) => a.open - b.open || Number(a === last) - Number(b === last));
    if (router === undefined) return void response.writeHead(503).end();
    last = router;
    router.open += 1;
    response.once('close', () => (router.open -= 1));
    const { hostname, port } = router.target;
    const { method, url: path, headers } = incoming;
    const outgoing = httpRequest({ agent, hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.keepAliveTimeout = 120_000;
  const { url, close } = await listenOnLoopback(server);
  return { ready: { url }, stop: close };
});
