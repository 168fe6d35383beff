// Tests of decisions that the router makes from a definition alone, but only where the engine would decide the same.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import {
  workflowMetadataOf,
  type WorkflowDefinition,
  type WorkflowTask,
} from '../../../../plugins/conductor/dispatch/workflow-metadata.ts';

const work: WorkflowTask = {
  name: 'work',
  taskReferenceName: 'work',
  type: 'SIMPLE',
  inputParameters: { inbound: '${workflow.input.inbound}' },
};
const outputParameters = { outbound: '${work.output.outbound}' };
const metadata = (tasks: WorkflowTask[], output: Record<string, unknown> = outputParameters) =>
  workflowMetadataOf({ name: 'testWF', tasks, outputParameters: output });

const event: WorkflowTask = {
  name: 'told',
  taskReferenceName: 'told',
  type: 'EVENT',
  sink: 'conductor:told',
  optional: true,
};
const onPatch = (tasks: WorkflowTask[]): WorkflowTask => ({
  name: 'on_patch',
  taskReferenceName: 'on_patch',
  type: 'SWITCH',
  evaluatorType: 'value-param',
  expression: 'method',
  inputParameters: { method: '${workflow.input.inbound.httpMethod}' },
  decisionCases: { PATCH: tasks },
});

describe('one SIMPLE task', () => {
  const { first, taskTypes } = metadata([work]);

  it('without output parameters, the engine decides which output becomes that of the workflow', () => {
    expect(metadata([work], {}).first?.last).toBeUndefined();
    expect(workflowMetadataOf({ name: 'testWF', tasks: [work] }).first?.last).toBeUndefined();
  });

  it('with an input template, the engine alone knows the input', () => {
    const definition = { name: 'testWF', tasks: [work], outputParameters, inputTemplate: { tenant: 'a' } };
    expect(workflowMetadataOf(definition).first?.inputOf).toBeUndefined();
  });

  it('gets the members of the input that it references', () => {
    expect(first?.inputOf?.({ inbound: { path: '/x' }, other: 1 })).toEqual({ inbound: { path: '/x' } });
    expect(taskTypes).toEqual(['work']);
  });

  it('gets null for a missing member, as in the engine', () => {
    expect(first?.inputOf?.({})).toEqual({ inbound: null });
    expect(first?.last?.outputOf({})).toEqual({ outbound: null });
    expect(metadata([{ ...work, inputParameters: { x: '${workflow.input.toString}' } }]).first?.inputOf?.({})).toEqual({
      x: null,
    });
  });

  it('that is the last task: its output becomes the output of the workflow', () => {
    expect(first?.last?.outputOf({ outbound: { statusCodeValue: 200 }, more: 1 })).toEqual({
      outbound: { statusCodeValue: 200 },
    });
    expect(first?.last?.eventsOf({})).toEqual([]);
  });
});

describe('only the engine knows the input', () => {
  it.each([
    ['text around the reference', 'x ${workflow.input.inbound}'],
    ['a constant', 'x'],
    ['a number', 1],
    ['another root', '${workflow.workflowId}'],
    ['a secret', '${workflow.secrets.x}'],
    ['an index', '${workflow.input.list[0]}'],
    ['a filter', '${workflow.input.list[?(@.x)]}'],
    ['an object', { a: '${workflow.input.inbound}' }],
  ])('%s', (_title, value) => {
    expect(metadata([{ ...work, inputParameters: { value } }]).first?.inputOf).toBeUndefined();
  });
});

describe('only the engine knows the final output', () => {
  it.each<[string, WorkflowTask[], Record<string, unknown>?]>([
    ['another SIMPLE task follows', [work, { ...work, taskReferenceName: 'more' }]],
    ['an EVENT that may fail the execution follows', [work, { ...event, optional: false }]],
    ['an EVENT to a queue outside the engine follows', [work, { ...event, sink: 'amqp:told' }]],
    ['an EVENT whose sink the engine resolves', [work, { ...event, sink: 'conductor:told_${workflow.input.mis}' }]],
    ['a SWITCH with a SIMPLE task in a case', [work, onPatch([{ ...work, taskReferenceName: 'more' }])]],
    ['a SWITCH by script', [work, { ...onPatch([event]), evaluatorType: 'javascript' }]],
    ['a task of the engine that may fail', [work, { ...work, taskReferenceName: 'i', type: 'INLINE' }]],
    ['the task is optional', [{ ...work, optional: true }]],
    ['the workflow output contains more than the output of the task', [work], { id: '${workflow.workflowId}' }],
    ['the output is a constant', [work], { outbound: 'x' }],
  ])('%s', (_title, tasks, output) => {
    expect(metadata(tasks, output).first?.last).toBeUndefined();
  });

  it('the definition begins with another type of task', () => {
    expect(metadata([event, work])).toMatchObject({ first: undefined, taskTypes: ['work'] });
  });
});

it('the events that follow are those of the case that the input selects', () => {
  const last = metadata([work, onPatch([event])]).first?.last;
  expect(last?.eventsOf({ inbound: { httpMethod: 'PATCH' } })).toEqual(['conductor:testWF:told']);
  expect(last?.eventsOf({ inbound: { httpMethod: 'GET' } })).toEqual([]);
  expect(last?.eventsOf({})).toEqual([]);
});

it.each([
  ['conductor', 'conductor:testWF:'],
  ['conductor:a:b', 'conductor:testWF:a:b'],
])('an EVENT with the sink %s has the name that Conductor gives it', (sink, name) => {
  const last = metadata([work, { ...event, sink }]).first?.last;
  const expected = sink === 'conductor' ? `${name}${event.taskReferenceName}` : name;
  expect(last?.eventsOf({})).toEqual([expected]);
});

it('task types inside cases, loops and forks are included', () => {
  const inner = (name: string) => ({ ...work, name, taskReferenceName: name });
  const fork: WorkflowTask = { ...event, type: 'FORK_JOIN', forkTasks: [[inner('a')], [inner('b')]] };
  const loop: WorkflowTask = { ...event, type: 'DO_WHILE', loopOver: [inner('c'), inner('a')] };
  expect(metadata([fork, loop, onPatch([inner('d')])]).taskTypes).toEqual(['a', 'b', 'c', 'd']);
});

it('the router can derive the first input and the final output of every routed workflow of this product', () => {
  const { workflows } = loadDefinitions(fileURLToPath(new URL('../../../..', import.meta.url)));
  const routed = workflows.filter(({ definition }) => !definition.name.startsWith('mdm'));
  expect(routed.length).toBeGreaterThanOrEqual(4);
  for (const { definition } of routed) {
    const { first } = workflowMetadataOf(definition as unknown as WorkflowDefinition);
    expect([definition.name, first?.inputOf === undefined, first?.last === undefined]).toEqual([
      definition.name,
      false,
      false,
    ]);
  }
});
