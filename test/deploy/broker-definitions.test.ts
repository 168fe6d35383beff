// Tests of the definitions for the broker of MDM's update queue.

import { expect, it } from 'vitest';
import { textOf } from './deployment-files.ts';

interface BrokerDefinitions {
  queues: { name: string }[];
  policies: { pattern: string; priority: number; definition: Record<string, unknown> }[];
}

const { queues, policies } = JSON.parse(textOf('deploy/rabbitmq/definitions.json')) as BrokerDefinitions;

it('each queue has one policy with a delivery limit, because RabbitMQ 4 has a default limit of 20 deliveries', () => {
  const limits = queues.map(({ name }) => [
    name,
    policies
      .filter(({ pattern }) => new RegExp(pattern).test(name))
      .map(({ definition }) => definition['delivery-limit']),
  ]);
  expect(Object.fromEntries(limits)).toEqual({ 'mdm.updates': [1_000], 'mdm.updates.parked': [1_000_000] });
});
