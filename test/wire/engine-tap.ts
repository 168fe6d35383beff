// Between router and engine: passes everything, and keeps what the router asked, so that nothing unseen is started.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface EngineTap {
  readonly url: string;
  /** Everything the router has sent so far, Latin-1. */
  sent(): string;
  /** How many workflows it has asked to start. */
  starts(): number;
  stop(): Promise<void>;
}

export async function startEngineTap(engineUrl: string): Promise<EngineTap> {
  const { hostname, port } = new URL(engineUrl);
  const sockets = new Set<Socket>();
  const chunks: string[] = [];
  const server = createServer((client) => {
    const engine = connect(Number(port), hostname);
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        engine.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => chunks.push(chunk.toString('latin1')));
    client.pipe(engine);
    engine.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sent = () => chunks.join('');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    starts: () => sent().split('POST /api/workflow HTTP/1.1\r\n').length - 1,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
