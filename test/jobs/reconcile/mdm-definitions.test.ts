// Tests of the workflow starts that the reconciler derives from definitions: which handlers, actions and events count.

import { describe, expect, it, test } from 'vitest';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { EventHandler, WorkflowDefinition } from '#lib/conductor/definitions/schema.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';

const product = definitionsFor();
const fileOf = <T>(definition: T) => ({ file: 'x.json', text: '{}', definition });
const [mdm] = product.eventHandlers.map(({ definition }) => definition).filter(({ name }) => name === 'mdm');
const [v2] = product.workflows
  .map(({ definition }) => definition)
  .filter(({ name, version }) => name === 'college-adaptorWF' && version === 2);
const auditAction = {
  action: 'start_workflow' as const,
  start_workflow: { ...mdm!.actions[0]!.start_workflow, name: 'auditWF', version: 7 },
};
const audit: EventHandler = { ...mdm!, name: 'zz-audit', actions: [auditAction] };

/** Returns the product's definitions with these handlers in place of the handler `mdm`. */
function withHandlers(...handlers: EventHandler[]): Definitions {
  const others = product.eventHandlers.filter(({ definition }) => definition !== mdm);
  return { ...product, eventHandlers: [...others, ...handlers.map(fileOf)] };
}
const withCondition = (condition: string) => withHandlers({ ...mdm!, condition });
const withVersion3 = (definition: Partial<WorkflowDefinition>): Definitions => ({
  ...product,
  workflows: [...product.workflows, fileOf({ ...v2!, version: 3, ...definition })],
});

/** Returns the workflow starts that follow a PATCH of a person at a college. */
function startsAfterPatch(definitions: Definitions, { mis = '001', version = 2, status = 200 } = {}) {
  const patch = { workflowName: 'college-adaptorWF', workflowVersion: version, workflowId: 'e-1' };
  const inbound = { httpMethod: 'PATCH', params: { mis }, requestId: 'r-1' };
  const outbound = { statusCodeValue: status, body: '{"cccid":"C1"}' };
  return new MdmDefinitions(definitions).startsAfter(patch, {
    workflow: { workflowId: 'e-1', input: { inbound } },
    'college-adaptor_intake': { output: { outbound } },
  });
}
const start = { name: 'mdmWF', version: 1, correlationId: 'e-1', input: { mis: '001', executionId: 'e-1' } };

describe('handlers and actions that start other workflows', () => {
  test.each([
    ['a handler listed later', withHandlers(mdm!, audit)],
    ['a handler listed earlier', withHandlers(audit, mdm!)],
    ['an action listed earlier', withHandlers({ ...mdm!, actions: [auditAction, ...mdm!.actions] })],
  ])('%s → only mdmWF is started', (_case, definitions) => {
    expect(startsAfterPatch(definitions)).toMatchObject([start]);
    expect(startsAfterPatch(definitions)).toHaveLength(1);
    expect(new MdmDefinitions(definitions).notifyVersion).toBe(1);
  });

  it('without an active handler that starts mdmWF → no start and no version of mdmWF', () => {
    for (const definitions of [withHandlers(audit), withHandlers(audit, { ...mdm!, active: false })]) {
      expect(startsAfterPatch(definitions)).toEqual([]);
      expect(new MdmDefinitions(definitions).notifyVersion).toBeUndefined();
    }
  });
});

describe('the condition of the handler', () => {
  it('narrowed to one college → no start for the others', () => {
    const definitions = withCondition(`${mdm!.condition} && $.mis == '002'`);
    expect(startsAfterPatch(definitions)).toEqual([]);
    expect(startsAfterPatch(definitions, { mis: '002' })).toMatchObject([{ name: 'mdmWF', input: { mis: '002' } }]);
  });

  test.each([
    ['a field that the engine adds to the payload', "$.workflowVersion == 2 && $.workflowInstanceId == 'e-1'", 1],
    ['a field of a JSON text, which the engine parses', "$.outbound?.body?.cccid == 'C1'", 1],
    [
      'the sink, the event and the task domains',
      "$.sink == 'conductor:person_patched' && $.event_produced.endsWith('person_patched') && !$.asyncComplete && $.taskToDomain != null",
      1,
    ],
    ['a positive number', '$.outbound?.statusCodeValue', 1],
    ['a string, which the engine treats as false', '$.mis', 0],
    ['a condition that cannot be evaluated here', "$.mis.equals('001')", 1],
    ['a condition that is not JavaScript, which `check` reports', '$.mis = =', 1],
  ])('%s: %s → %i starts', (_case, condition, count) => {
    expect(startsAfterPatch(withCondition(condition))).toHaveLength(count);
  });

  it('is evaluated anew for each event', () => {
    const definitions = new MdmDefinitions(product);
    const startsOf = (statusCodeValue: number) =>
      definitions.startsAfter(
        { workflowName: 'college-adaptorWF', workflowVersion: 2 },
        {
          workflow: { input: { inbound: { httpMethod: 'PATCH' } } },
          'college-adaptor_intake': { output: { outbound: { statusCodeValue } } },
        },
      );
    expect([200, 404, 204].map((status) => startsOf(status).length)).toEqual([1, 0, 1]);
  });
});

describe('a version with several EVENT tasks', () => {
  it('starts mdmWF for the event that its handler listens to, wherever the EVENT task is in the workflow', () => {
    const other = { name: 'received', taskReferenceName: 'received', type: 'EVENT', sink: 'conductor' };
    for (const tasks of [
      [other, ...v2!.tasks],
      [...v2!.tasks, other],
    ]) {
      expect(startsAfterPatch(withVersion3({ tasks }), { version: 3 })).toMatchObject([start]);
    }
  });

  it('considers only the EVENT tasks in the cases that the engine takes', () => {
    const [intake, onPatch] = v2!.tasks;
    const deleted = {
      name: 'person_deleted',
      taskReferenceName: 'person_deleted',
      type: 'EVENT',
      sink: 'conductor:person_deleted',
      inputParameters: { mis: 'deleted' },
    };
    const onDelete: EventHandler = { ...mdm!, name: 'deleted', event: 'conductor:college-adaptorWF:person_deleted' };
    delete onDelete.condition;
    for (const others of [
      { decisionCases: { ...onPatch!.decisionCases, DELETE: [deleted] } },
      { defaultCase: [deleted] },
    ]) {
      const definitions = withVersion3({ tasks: [intake!, { ...onPatch!, ...others }] });
      const both = { ...definitions, eventHandlers: [...definitions.eventHandlers, fileOf(onDelete)] };
      expect(startsAfterPatch(both, { version: 3 })).toMatchObject([start]);
      expect(startsAfterPatch(both, { version: 3, status: 404 })).toEqual([]);
    }
  });
});

it('an expression with brackets is resolved like an expression with dots', () => {
  const text = JSON.stringify(v2!.tasks).replace('intake.output.outbound}', "intake.output['outbound']}");
  expect(text).toContain("['outbound']");
  const tasks = JSON.parse(text) as WorkflowDefinition['tasks'];
  expect(startsAfterPatch(withVersion3({ tasks }), { version: 3 })).toMatchObject([start]);
});

it('conditions can be ignored', () => {
  const patch = { workflowName: 'college-adaptorWF', workflowVersion: 2 };
  const definitions = new MdmDefinitions(withCondition('false'));
  expect(definitions.startsAfter(patch, {})).toEqual([]);
  expect(
    definitions.startsAfter(
      patch,
      { workflow: { input: { inbound: { httpMethod: 'PATCH' } } } },
      { ignoresConditions: true },
    ),
  ).toHaveLength(1);
});
