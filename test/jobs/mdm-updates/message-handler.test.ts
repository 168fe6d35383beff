// Tests of handling a message from MDM's update queue when the engine rejects the start, fails or is under load.

import { expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { MessageHandler, type MessageOutcome } from '../../../jobs/mdm-updates/message-handler.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { startFakeEngine } from './fake-engine.ts';

const stopping = new AbortController().signal;
const update = { misCode: '002', sisPersonId: 'B00417733', cccid: 'ABC1234', updateId: 'u-1' };

/** Starts an engine without executions. It responds to start requests with these statuses, and then with 200. */
async function startEngine(statuses: number[]) {
  let starts = 0;
  const dependencies = await startFakeEngine((request, response) => {
    if (request.method === 'GET') return void response.end('[]');
    response.statusCode = statuses[starts++] ?? 200;
    response.end(response.statusCode === 200 ? 'id-of-the-share' : JSON.stringify({ message: 'no' }));
  });
  return { dependencies, starts: () => starts };
}

const rejectedAfter5: [MessageOutcome, number] = ['rejected', 5];

it.each<[what: string, statuses: number[], outcome: [MessageOutcome, number]]>([
  ['rejects the message when the engine lacks the workflow (404)', Array<number>(9).fill(404), rejectedAfter5],
  ['rejects the message when the engine refuses the input (400)', Array<number>(9).fill(400), rejectedAfter5],
  ['starts the share when the engine lacks the workflow only for a moment', [404, 404], ['started', 3]],
  ['keeps trying while the engine fails (500)', Array<number>(20).fill(500), ['started', 21]],
  ['keeps trying while the engine is under load (429)', Array<number>(20).fill(429), ['started', 21]],
])('%s', async (_what, statuses, outcome) => {
  const { dependencies, starts } = await startEngine(statuses);
  const definitions = new MdmDefinitions(definitionsFor());
  const log = createLog('test', 'silent');
  const mdmDefinitions = () => definitions;
  const handler = new MessageHandler({ ...dependencies, mdmDefinitions, log, retryMs: 1, stopping });
  expect([await handler.handle({ body: update, redelivered: false }), starts()]).toEqual(outcome);
});
