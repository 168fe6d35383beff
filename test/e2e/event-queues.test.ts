// Tests that the engine serves the queue of every event handler, on each store, even with fewer cores than handlers.

import { describe, it } from 'vitest';
import { type EngineKind, startFaultEngine } from '../faults/engine.ts';
import { type Requirement, requires } from '../run/requirements.ts';
import { type EngineApi, engineApi } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';

const queues = ['one', 'two', 'three'];
const owner = { ownerEmail: 'tests@example.org' };

/** Returns a workflow whose only task publishes an event, and the handler that starts `heardWF` for that event. */
const definitionsOf = (queue: string) => ({
  workflow: {
    ...{ ...owner, name: `${queue}WF`, version: 1, schemaVersion: 2, timeoutSeconds: 0 },
    tasks: [{ name: 'publish', taskReferenceName: 'publish', type: 'EVENT', sink: `conductor:${queue}` }],
  },
  handler: {
    ...{ name: queue, event: `conductor:${queue}WF:${queue}`, active: true },
    actions: [{ action: 'start_workflow', start_workflow: { name: 'heardWF', version: 1, correlationId: queue } }],
  },
});

const heard = {
  ...{ ...owner, name: 'heardWF', version: 1, schemaVersion: 2, timeoutSeconds: 0 },
  tasks: [{ name: 'heard', taskReferenceName: 'heard', type: 'SIMPLE' }],
};

const stores: readonly [EngineKind, readonly Requirement[]][] = [
  ['sqlite', []],
  ['postgresql', ['postgresql']],
  ['redis', ['redis']],
];

describe.each(stores)('an engine on %s with one core', (kind, needs) => {
  it('serves the queue of every event handler', requires('full', ...needs), async () => {
    const engine = await startFaultEngine(kind, {
      ownServer: true,
      environment: { JAVA_TOOL_OPTIONS: '-XX:ActiveProcessorCount=1' },
    });
    try {
      const api = engineApi(engine.url);
      await register(api);
      // The engine reads the handlers when it starts, and then once a minute.
      await engine.kill();
      await engine.start();
      for (const queue of queues) await api.send('POST', `/workflow/${queue}WF`, {});
      await pollUntil('every handler to start its workflow', async () => {
        const started = await Promise.all((await api.get<string[]>('/workflow/running/heardWF')).map(api.execution));
        return new Set(started.map(({ correlationId }) => correlationId)).size === queues.length;
      });
    } finally {
      await engine.stop();
    }
  });
});

async function register({ send }: EngineApi): Promise<void> {
  const definitions = queues.map(definitionsOf);
  await send('POST', '/metadata/taskdefs', [{ ...owner, name: 'heard', timeoutSeconds: 0 }]);
  for (const workflow of [heard, ...definitions.map(({ workflow }) => workflow)])
    await send('POST', '/metadata/workflow', workflow);
  for (const { handler } of definitions) await send('POST', '/event', handler);
}
