// Runs stock Express Gateway as documented, and reports its address to the bench.

import { fileURLToPath } from 'node:url';
import createGateway from 'express-gateway';

// The configuration takes the port from this variable; 0 means any free port.
process.env.BENCH_PROXY_PORT = '0';

const [server] = await createGateway()
  .load(fileURLToPath(new URL('config', import.meta.url)))
  .run();
process.send({ type: 'ready', ready: { url: `http://127.0.0.1:${server.app.address().port}` } });
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
