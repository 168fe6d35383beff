import { describe, expect, it } from 'vitest';
import { compareDefinition } from './compare.ts';

/** A task as the engine writes it out. */
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

describe('comparison with the engine', () => {
  it('what the engine notes and its defaults, at every depth: no difference', () => {
    expect(compareDefinition('workflow', file, engine)).toEqual([]);
  });

  it('a default that the file writes down: no difference', () => {
    expect(compareDefinition('workflow', { ...file, restartable: true, timeoutSeconds: 0 }, engine)).toEqual([]);
  });

  it('a value that only the engine has, other than its default: a difference', () => {
    expect(compareDefinition('workflow', file, { ...engine, timeoutSeconds: 30 })).toEqual([
      { path: 'timeoutSeconds', file: undefined, engine: 30 },
    ]);
  });

  it('what looks like a default or a note inside data: compared as it stands', () => {
    const withData = (inputParameters: unknown) => ({ ...file, tasks: [{ ...file.tasks[0], inputParameters }] });
    expect(
      compareDefinition('workflow', withData({ optional: false, updateTime: 1 }), withData({ optional: true })),
    ).toEqual([
      { path: 'tasks[0].inputParameters.optional', file: false, engine: true },
      { path: 'tasks[0].inputParameters.updateTime', file: 1, engine: undefined },
    ]);
  });

  it('a task more or less, deep inside: named by its path', () => {
    const changed = structuredClone(engine);
    changed.tasks[1] = { ...engine.tasks[1], decisionCases: { PATCH: [] } } as never;
    expect(compareDefinition('workflow', file, changed)).toEqual([
      expect.objectContaining({ path: 'tasks[1].decisionCases.PATCH[0]', engine: undefined }),
    ]);
  });

  it('an empty taskToDomain against none: a difference, as it means something else', () => {
    const handler = (start: object) => ({
      name: 'h',
      event: 'e',
      active: true,
      actions: [{ action: 'start_workflow', start_workflow: start }],
    });
    expect(
      compareDefinition('event handler', handler({ name: 'x', taskToDomain: {} }), {
        ...handler({ name: 'x' }),
        actions: [{ ...handler({ name: 'x' }).actions[0], expandInlineJSON: false }],
      }),
    ).toEqual([{ path: 'actions[0].start_workflow.taskToDomain', file: {}, engine: undefined }]);
  });

  it('a task definition: the engine writes out what was left out', () => {
    const definition = { name: 't', retryCount: 0, responseTimeoutSeconds: 22, timeoutSeconds: 0 };
    const registered = { ...definition, createTime: 1, retryDelaySeconds: 60, rateLimitPerFrequency: 0, inputKeys: [] };
    expect(compareDefinition('task type', definition, registered)).toEqual([]);
    expect(compareDefinition('task type', { ...definition, retryCount: 3 }, registered)).toEqual([
      { path: 'retryCount', file: 3, engine: 0 },
    ]);
  });
});
