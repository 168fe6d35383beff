// Tests of comparing definition files with the engine: fields and defaults that the engine adds are ignored.

import { describe, expect, it } from 'vitest';
import { type DefinitionKind, isEqual, normaliseDefinition } from '#lib/conductor/metadata/normalise.ts';

/** A task with all the fields that the engine adds. */
const materialisedTask = {
  decisionCases: {},
  defaultCase: [],
  forkTasks: [],
  startDelay: 0,
  joinOn: [],
  optional: false,
  defaultExclusiveJoinTask: [],
  asyncComplete: false,
  loopOver: [],
  onStateChange: {},
  permissive: false,
  metadata: {},
};
const file = {
  name: 'aWF',
  version: 1,
  schemaVersion: 2,
  inputParameters: ['inbound'],
  tasks: [
    { name: 'a', taskReferenceName: 'a', type: 'SIMPLE', inputParameters: { inbound: '${workflow.input.inbound}' } },
    {
      name: 's',
      taskReferenceName: 's',
      type: 'SWITCH',
      decisionCases: { PATCH: [{ name: 'e', taskReferenceName: 'e', type: 'EVENT', sink: 'conductor:x' }] },
    },
  ],
};
const engine = {
  ...file,
  createTime: 1_795_257_124_133,
  updateTime: 0,
  createdBy: '',
  restartable: true,
  workflowStatusListenerEnabled: false,
  timeoutPolicy: 'ALERT_ONLY',
  timeoutSeconds: 0,
  variables: {},
  outputParameters: {},
  inputTemplate: {},
  enforceSchema: true,
  metadata: {},
  maskedFields: [],
  tasks: [
    { ...materialisedTask, ...file.tasks[0] },
    {
      ...materialisedTask,
      ...file.tasks[1],
      inputParameters: {},
      decisionCases: {
        PATCH: [
          {
            ...materialisedTask,
            name: 'e',
            taskReferenceName: 'e',
            type: 'EVENT',
            sink: 'conductor:x',
            inputParameters: {},
          },
        ],
      },
    },
  ],
};

/** Returns true when the definition in the engine is equivalent to the one in the file. */
const isSame = (kind: DefinitionKind, inFile: unknown, inEngine: unknown) =>
  isEqual(normaliseDefinition(kind, inFile), normaliseDefinition(kind, inEngine));

describe('comparison with the engine', () => {
  it('fields and defaults that the engine adds, at every depth: no difference', () => {
    expect(isSame('workflow', file, engine)).toBe(true);
  });

  it('a default that the file states explicitly: no difference', () => {
    expect(isSame('workflow', { ...file, restartable: true, timeoutSeconds: 0 }, engine)).toBe(true);
  });

  it('a value that only the engine has and that is not its default: a difference', () => {
    expect(isSame('workflow', file, { ...engine, timeoutSeconds: 30 })).toBe(false);
  });

  it('a value inside data that looks like a default or an added field: not ignored', () => {
    const withData = (inputParameters: unknown) => ({ ...file, tasks: [{ ...file.tasks[0], inputParameters }] });
    expect(isSame('workflow', withData({ optional: false }), withData({}))).toBe(false);
    expect(isSame('workflow', withData({ updateTime: 1 }), withData({}))).toBe(false);
  });

  it('a deeply nested task that the engine lacks: a difference', () => {
    const changed = structuredClone(engine);
    changed.tasks[1] = { ...engine.tasks[1], decisionCases: { PATCH: [] } } as never;
    expect(isSame('workflow', file, changed)).toBe(false);
  });

  it('an empty taskToDomain on one side and none on the other: a difference, because their meanings differ', () => {
    const handler = (start: object) => ({
      name: 'h',
      event: 'e',
      active: true,
      actions: [{ action: 'start_workflow', start_workflow: start }],
    });
    const plain = handler({ name: 'x' });
    const registered = { ...plain, actions: [{ ...plain.actions[0], expandInlineJSON: false }] };
    expect(isSame('event handler', plain, registered)).toBe(true);
    expect(isSame('event handler', handler({ name: 'x', taskToDomain: {} }), registered)).toBe(false);
  });

  it('a task definition: fields that the engine adds make no difference, but another value does', () => {
    const definition = { name: 't', retryCount: 0, responseTimeoutSeconds: 22, timeoutSeconds: 0 };
    const registered = { ...definition, createTime: 1, retryDelaySeconds: 60, rateLimitPerFrequency: 0, inputKeys: [] };
    expect(isSame('task type', definition, registered)).toBe(true);
    expect(isSame('task type', { ...definition, retryCount: 3 }, registered)).toBe(false);
  });
});
