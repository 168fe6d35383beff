// Tests of the impact of changed definitions: how many running executions each change affects, up to a limit.

import { describe, expect, it } from 'vitest';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { RegisteredDefinitions } from '#lib/conductor/metadata/metadata-api.ts';
import type { Change } from '#lib/conductor/metadata/plan.ts';
import { countRunning } from '#lib/conductor/metadata/impact.ts';

/** Returns a fake engine in which these executions are running. */
function engineWith(running: readonly (readonly [id: string, workflow: string, version: number])[]) {
  const calls: string[] = [];
  const answer = (value: unknown) => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(value)) });
  const api = new ExecutionApi(async ({ path }) => {
    calls.push(path);
    const name = /^\/api\/workflow\/running\/(.+)$/.exec(path)?.[1];
    if (name !== undefined) return answer(running.filter(([, workflow]) => workflow === name).map(([id]) => id));
    const id = /^\/api\/workflow\/([^?]+)/.exec(path)?.[1];
    const found = running.find((execution) => execution[0] === id);
    return answer({ workflowVersion: found?.[2] });
  });
  return { api, calls };
}

const nested = { name: 'b', taskReferenceName: 'b', type: 'SIMPLE' };
const registered: RegisteredDefinitions = {
  workflows: [
    { name: 'aWF', version: 1, tasks: [{ name: 'a', taskReferenceName: 'a' }] },
    { name: 'aWF', version: 2, tasks: [{ name: 's', taskReferenceName: 's', decisionCases: { X: [nested] } }] },
    { name: 'otherWF', version: 1, tasks: [{ name: 'o', taskReferenceName: 'o', loopOver: [nested] }] },
  ],
  taskDefs: [{ name: 'a' }, { name: 'b' }],
  eventHandlers: [],
};
const running = [
  ['1', 'aWF', 1],
  ['2', 'aWF', 2],
  ['3', 'aWF', 2],
  ['4', 'otherWF', 1],
] as const;

const change = (part: Partial<Change>): Change => ({ action: 'change', kind: 'workflow', name: 'aWF', ...part });
const countOf = async (changes: Change[]) =>
  (await countRunning(changes, registered, engineWith(running).api)).map((counted) => counted.running?.count);

describe('running executions affected by a change', () => {
  it('a workflow version: counts executions of this version', async () => {
    expect(
      await countOf([change({ version: 1 }), change({ version: 2 }), change({ version: 2, action: 'remove' })]),
    ).toEqual([1, 2, 2]);
  });

  it('a task type: counts executions of all versions with a task of the type, even in branches and loops', async () => {
    expect(await countOf([change({ kind: 'task type', name: 'a' }), change({ kind: 'task type', name: 'b' })])).toEqual(
      [1, 3],
    );
  });

  it('a handler: counts executions of the workflow that produces its event, in any version', async () => {
    const before = { event: 'conductor:aWF:done' };
    expect(await countOf([change({ kind: 'event handler', name: 'h', before })])).toEqual([3]);
  });

  it('a handler of a broker queue: counts none, and does not query the engine', async () => {
    const { api, calls } = engineWith(running);
    const before = { event: 'amqp_queue:mdm.updates.002?order=162' };
    const [counted] = await countRunning([change({ kind: 'event handler', name: 'h', before })], registered, api);
    expect(counted?.running).toEqual({ count: 0, more: false });
    expect(calls).toEqual([]);
  });

  it('additions affect no execution, and the engine is not queried', async () => {
    const { api, calls } = engineWith(running);
    const [counted] = await countRunning([change({ action: 'add', version: 3 })], registered, api);
    expect(counted).not.toHaveProperty('running');
    expect(calls).toEqual([]);
  });

  it('more executions than the limit: reports that there are more', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => [`${index}`, 'aWF', 1] as const);
    const [counted] = await countRunning([change({ version: 1 })], registered, engineWith(many).api);
    expect(counted?.running).toEqual({ count: 1_000, more: true });
  });
});
