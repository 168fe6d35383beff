// Consumes the updates that MDM publishes to RabbitMQ. Each update starts an execution of mdm-shareWF and is
// acknowledged once that execution has started.

import { setTimeout as pause } from 'node:timers/promises';
import { Counter, type Registry } from 'prom-client';
import { type AsyncMessage, Connection, ConsumerStatus } from 'rabbitmq-client';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { Engine } from '#lib/conductor/engine.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';
import { createExecutionApi, recordsOf } from '#lib/records/chosen-index.ts';
import { createRecorder } from '#lib/records/recorder.ts';
import type { Redis } from '#lib/redis/redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { mdmDefinitionsOf } from '../reconcile/index.ts';
import { MessageHandler, type MessageOutcome } from './message-handler.ts';
import { watchConsumer } from './notice.ts';

/** Dependencies of the consumer. */
export interface MdmUpdatesOptions {
  readonly config: Config;
  /**
   * Returns the active definitions: their event handlers determine which colleges receive updates, and in which task
   * domain mdm-shareWF runs for each.
   */
  readonly definitions: () => Definitions;
  readonly metrics: Registry;
  readonly log: Logger;
  /** Stores the records of executions when the engine has no index. */
  readonly redis: Redis | undefined;
  /**
   * Time allowed for a clean disconnection from the broker, in milliseconds. Default: 3 seconds, because a broker that
   * does not respond must not delay the other stop functions until the router is killed.
   */
  readonly maxDisconnectMs?: number;
}

/** A running consumer. */
export interface MdmUpdates {
  /** Returns readiness notices that say why updates are waiting; the notices do not make the router unready. */
  notice(): readonly string[];
  /**
   * Requeues the messages whose execution of mdm-shareWF has not started, and disconnects. If the broker does not
   * respond, it delivers the unacknowledged messages again once it notices the disconnection.
   */
  stop(): Promise<void>;
}

/** The queue that deploy/rabbitmq/definitions.json defines. */
const queue = 'mdm.updates';
/** Messages handled at the same time. */
const concurrency = 8;
/** Time between two attempts to start mdm-shareWF while the engine is unavailable, in milliseconds. */
const retryMs = 1_000;

const statusOf: Readonly<Record<MessageOutcome, ConsumerStatus>> = {
  started: ConsumerStatus.ACK,
  rejected: ConsumerStatus.DROP,
  returned: ConsumerStatus.REQUEUE,
};

/** Starts the consumer and returns at once, even when the broker is unavailable. */
export function startMdmUpdates(options: MdmUpdatesOptions, url: string): MdmUpdates {
  const { config, definitions, metrics, log, redis, maxDisconnectMs = 3_000 } = options;
  const timeoutMs = config['conductor.timeoutMs'];
  const engine = new Engine({ url: config['conductor.url'], timeoutMs, connections: concurrency });
  const call: SendRequest = (request) => engine.request(request);
  const presence = new IndexPresence(call);
  const source = recordsOf({ redis, config, metrics, log });
  const updates = new Counter({
    name: 'router_mdm_updates_total',
    help: "Messages of MDM's update queue: started, rejected (dead-lettered), returned (to the queue, when the router stopped)",
    labelNames: ['outcome'],
    registers: [metrics],
  });
  const stopping = new AbortController();
  const handler = new MessageHandler({
    executions: createExecutionApi({ call, presence, ...source }),
    recorder: createRecorder(source.records, presence),
    ...{ log, retryMs, stopping: stopping.signal },
    mdmDefinitions: mdmDefinitionsOf(definitions),
  });
  const handle = async (message: AsyncMessage): Promise<ConsumerStatus> => {
    const outcome = await handler.handle(message);
    updates.inc({ outcome });
    return statusOf[outcome];
  };

  const connection = new Connection({ url, connectionName: 'service-router', acquireTimeout: 3_000, retryHigh: 5_000 });
  // The queue belongs to the operator, whose policy says what is dead-lettered, so the router does not declare it. A
  // message whose handler throws unexpectedly is dead-lettered too, because it would be redelivered forever if it were
  // returned to the queue.
  const consumer = connection.createConsumer(
    { queue, queueOptions: { passive: true }, requeue: false, concurrency, qos: { prefetchCount: 2 * concurrency } },
    handle,
  );
  return {
    notice: watchConsumer({ connection, consumer, queue, log }),
    async stop() {
      stopping.abort();
      const disconnect = async () => {
        await consumer.close();
        await connection.close();
      };
      // Fails when the connection is lost; nothing is left to requeue in that case.
      const disconnected = disconnect().catch(() => undefined);
      // Waits for the starts in flight, so that their messages are acknowledged; the time limit below begins
      // afterwards.
      await engine.close();
      await Promise.race([disconnected, pause(maxDisconnectMs, undefined, { ref: false })]);
      connection.unsafeDestroy();
    },
  };
}
