// A fake AMQP broker with one queue. It can stop responding, and it is closed after the test.

import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

interface Frame {
  readonly type: number;
  readonly channelId: number;
  readonly methodId?: number;
  readonly params?: object | undefined;
  readonly bodySize?: number;
  readonly fields?: object;
  readonly payload?: Buffer;
}
type Read = (bytes: number) => Promise<Buffer>;

// The codec of the client library, which does not export types for it.
const require = createRequire(import.meta.url);
const { Cmd, FrameType, encodeFrame, decodeFrame } = require('rabbitmq-client/lib/codec.js') as {
  readonly Cmd: Readonly<Record<string, number>> & Readonly<Record<number, string>>;
  readonly FrameType: { readonly METHOD: number; readonly HEADER: number; readonly BODY: number };
  encodeFrame(frame: Frame): Buffer;
  decodeFrame(read: Read): Promise<Frame>;
};
const { createAsyncReader } = require('rabbitmq-client/lib/util.js') as { createAsyncReader(socket: Socket): Read };

const consumerTag = 'router';
/** Length of the header that begins a connection, in bytes. */
const protocolHeaderLength = 8;

/** The response to each method. */
const responses: Readonly<Record<string, readonly [method: string, params?: object]>> = {
  ConnectionStartOK: ['ConnectionTune', { channelMax: 100, frameMax: 8_192, heartbeat: 60 }],
  ConnectionOpen: ['ConnectionOpenOK', { knownHosts: '' }],
  ChannelOpen: ['ChannelOpenOK', { rsvp1: '' }],
  QueueDeclare: ['QueueDeclareOK', { queue: 'mdm.updates', messageCount: 0, consumerCount: 0 }],
  BasicQos: ['BasicQosOK'],
  BasicConsume: ['BasicConsumeOK', { consumerTag }],
  BasicCancel: ['BasicCancelOK', { consumerTag }],
  ChannelClose: ['ChannelCloseOK'],
  ConnectionClose: ['ConnectionCloseOK'],
};

/** Starts the broker on a free port. Call it in a test. */
export async function startFakeBroker() {
  const sockets = new Set<Socket>();
  const received: string[] = [];
  let isFrozen = false;
  const send = (socket: Socket, channelId: number, method: string, params?: object) =>
    socket.write(encodeFrame({ type: FrameType.METHOD, channelId, methodId: Cmd[method] as number, params }));
  const serve = async (socket: Socket) => {
    const read = createAsyncReader(socket);
    await read(protocolHeaderLength);
    const version = { versionMajor: 0, versionMinor: 9, serverProperties: {} };
    send(socket, 0, 'ConnectionStart', { ...version, mechanisms: 'PLAIN', locales: 'en_US' });
    for (;;) {
      const { methodId, channelId } = await decodeFrame(read);
      if (methodId === undefined) continue;
      const method = Cmd[methodId] as string;
      received.push(method);
      const response = responses[method];
      if (response !== undefined && !isFrozen) send(socket, channelId, ...response);
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    // `serve` rejects when the client disconnects.
    serve(socket).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const disconnect = () => sockets.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    server.close();
    disconnect();
  });
  return {
    url: `amqp://guest:guest@127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Names of the methods that clients have sent. */
    received,
    /** Number of open connections. */
    connections: () => sockets.size,
    /** Delivers a message to each consumer. */
    deliver(body: object) {
      const payload = Buffer.from(JSON.stringify(body));
      const delivery = { consumerTag, deliveryTag: 1, redelivered: false, exchange: '', routingKey: '' };
      const fields = { contentType: 'application/json' };
      for (const socket of sockets) {
        send(socket, 1, 'BasicDeliver', delivery);
        socket.write(encodeFrame({ type: FrameType.HEADER, channelId: 1, bodySize: payload.length, fields }));
        socket.write(encodeFrame({ type: FrameType.BODY, channelId: 1, payload }));
      }
    },
    /** Stops all responses but keeps the connections open. */
    freeze: () => void (isFrozen = true),
    /** Closes the connections. */
    disconnect,
  };
}
