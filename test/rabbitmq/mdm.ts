// A client that publishes updates as MDM does, and an operator who reads dead-lettered messages.

import { randomUUID } from 'node:crypto';
import { Connection } from 'rabbitmq-client';
import type { Broker } from './broker.ts';

export interface Update {
  misCode: string;
  sisPersonId: string;
  cccid: string;
  updateId: string;
}

export interface PublishOptions {
  /** Message id. Default: a new one. */
  readonly messageId?: string | undefined;
}

const deadLetterQueue = 'mdm.updates.parked';

/** Connects to the broker as MDM and as the operator, and reconnects after outages of the broker. */
export async function connectMdm(broker: Broker) {
  const connection = connect(broker.url('mdm'));
  const operator = connect(broker.url('operator'));
  const publisher = connection.createPublisher({ confirm: true, maxAttempts: 20 });
  await Promise.all([connection.onConnect(10_000), operator.onConnect(10_000)]);
  return {
    /** Publishes an update or any other bytes; resolves when the broker has stored the message on disk. */
    async publish(update: Update | Buffer, { messageId = randomUUID() }: PublishOptions = {}) {
      const isUpdate = !Buffer.isBuffer(update);
      const envelope = {
        exchange: 'mdm.updates',
        routingKey: isUpdate ? update.misCode : '002',
        durable: true,
        contentType: 'application/json',
        messageId,
      };
      await publisher.send(envelope, isUpdate ? Buffer.from(JSON.stringify(update)) : update);
    },
    /** Takes the next dead-lettered message; undefined when there is none. */
    takeDeadLettered: () => operator.basicGet({ queue: deadLetterQueue, noAck: true }),
    async close() {
      await publisher.close();
      await Promise.all([connection.close(), operator.close()]);
    },
  };
}

export type Mdm = Awaited<ReturnType<typeof connectMdm>>;

function connect(url: string): Connection {
  const connection = new Connection({ url, retryLow: 100, retryHigh: 500, connectionTimeout: 5_000 });
  // Without an error listener, a lost connection would end the process.
  connection.on('error', () => undefined);
  return connection;
}
