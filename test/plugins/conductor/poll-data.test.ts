// Tests of the check that determines from the engine's poll data whether workers poll.

import { expect, it } from 'vitest';
import type { EngineResponse } from '#lib/conductor/engine.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { TaskQueues } from '../../../plugins/conductor/dispatch/task-queues.ts';
import { createWorkersCheck, PollData } from '../../../plugins/conductor/readiness.ts';

function setUp() {
  const polls = [
    { queueName: 'movies_intake', domain: 'a', lastPollTime: Date.now() - 1_000 },
    { queueName: 'movies_intake', lastPollTime: Date.now() - 5_000 },
  ];
  const request = async (): Promise<EngineResponse> => ({
    ...{ status: 200, headers: {} },
    body: Buffer.from(JSON.stringify(polls)),
  });
  const queues = new TaskQueues(
    { pollTasks: async () => [], updateTask: async () => undefined },
    createLog('test', 'silent'),
  );
  const check = createWorkersCheck(new PollData({ request }), queues, ['movies_intake']);
  return { polls, queues, check };
}

it('a poll from before the router started does not count, because its worker may have stopped', async () => {
  const { check } = setUp();
  expect([await check(), await check()]).toEqual([
    ['no worker polls movies_intake'],
    ['no worker polls movies_intake'],
  ]);
});

it('a later poll through another router counts, for a minute', async () => {
  const { polls, check } = setUp();
  await check();
  polls[1]!.lastPollTime = Date.now();
  expect(await check()).toEqual([]);
  for (const poll of polls) poll.lastPollTime = Date.now() - 61_000;
  expect(await check()).toEqual(['no worker polls movies_intake']);
});

it('a poll through this router counts at once', async () => {
  const { queues, check } = setUp();
  queues.notePoll({ taskType: 'movies_intake', domain: '002' });
  expect(await check()).toEqual([]);
});
