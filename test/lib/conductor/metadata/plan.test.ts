// Tests of plans: which definitions change and in which order, the digest of a plan, and the diff of each change.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegisteredDefinitions } from '#lib/conductor/metadata/metadata-api.ts';
import {
  digestPlan,
  changesRegisteredVersion,
  type Plan,
  planChanges,
  type PlanOptions,
} from '#lib/conductor/metadata/plan.ts';
import { diffOf } from '#lib/conductor/metadata/unified-diff.ts';
import { type CopyOfProduct, copyOfProduct, definitionsFor } from '../definitions/copy-of-product.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const empty: RegisteredDefinitions = { workflows: [], taskDefs: [], eventHandlers: [] };
const all: PlanOptions = { prune: false, concerns: () => true };

/** Returns the definitions of an engine that matches the current state of the copy. */
function registered(): RegisteredDefinitions {
  const { workflows, taskDefs, eventHandlers } = definitionsFor(['002'], copy.dir);
  const notes = { createTime: 1, updateTime: 2, createdBy: '' };
  const asRegistered = <T extends object>(list: readonly { definition: T }[]) =>
    list.map(({ definition }) => ({ ...structuredClone(definition), ...notes }));
  return {
    workflows: asRegistered(workflows),
    taskDefs: asRegistered(taskDefs),
    eventHandlers: asRegistered(eventHandlers),
  };
}
const plan = (engine: RegisteredDefinitions, options: Partial<PlanOptions> = {}) =>
  planChanges(definitionsFor(['002'], copy.dir), engine, { ...all, ...options });
const titlesOf = ({ changes }: Plan) => changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

describe('a plan', () => {
  it('for an empty engine: everything is added, first task types, then workflows, then handlers', () => {
    const { workflows, taskDefs, eventHandlers } = definitionsFor(['002'], copy.dir);
    const { changes, unchanged, kept } = plan(empty);
    expect({ unchanged, kept }).toEqual({ unchanged: 0, kept: [] });
    const kinds = changes.map(({ kind }) => kind);
    expect(kinds).toEqual([
      ...taskDefs.map(() => 'task type'),
      ...workflows.map(() => 'workflow'),
      ...eventHandlers.map(() => 'event handler'),
    ]);
  });

  it('for an engine that matches: no changes, whatever fields the engine adds', () => {
    expect(plan(registered())).toEqual({ changes: [], unchanged: plan(empty).changes.length, kept: [] });
  });

  it('of every kind of change: dependencies are added first and removed last', () => {
    const engine = registered();
    copy.remove('workflows/moviesWF.v1.json');
    copy.remove('workflows/tasks/movies_intake.json');
    copy.rename('event-handlers/mdm.json', 'event-handlers/patched.json');
    copy.replace('event-handlers/patched.json', '"name": "mdm"', '"name": "patched"');
    copy.rename('workflows/lms-dwWF.v1.json', 'workflows/lms-dwWF.v2.json');
    copy.set('workflows/lms-dwWF.v2.json', ['version'], 2);
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    expect(titlesOf(plan(engine, { prune: true }))).toEqual([
      'remove event handler mdm',
      'change task type mdm_notify',
      'add workflow lms-dwWF',
      'add event handler patched',
      'remove workflow lms-dwWF',
      'remove workflow moviesWF',
      'remove task type movies_intake',
    ]);
  });

  it('without prune: definitions that only the engine has are listed and kept', () => {
    const engine = registered();
    copy.remove('workflows/moviesWF.v1.json');
    expect(plan(engine)).toEqual({
      changes: [],
      unchanged: plan(empty).changes.length,
      kept: [{ kind: 'workflow', name: 'moviesWF', version: 1 }],
    });
  });

  it('limited to some names: other definitions are ignored, in the files and in the engine', () => {
    const options = { prune: true, concerns: (name: string) => name.startsWith('mdm') };
    const { changes } = plan({ ...empty, taskDefs: [{ name: 'other' }, { name: 'mdm_old' }] }, options);
    expect(changes.map(({ name }) => name)).toEqual([
      ...['mdm_notify', 'mdm_share', 'mdm-shareWF', 'mdmWF'],
      ...['mdm-share-002', 'mdm', 'mdm_old'],
    ]);
  });

  it('changes a registered version if a workflow changes, but not if a task type changes or a version is new', () => {
    const engine = registered();
    copy.set('workflows/moviesWF.v1.json', ['description'], 'Another.');
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    expect(plan(engine).changes.map((change) => [change.name, changesRegisteredVersion(change)])).toEqual([
      ['mdm_notify', false],
      ['moviesWF', true],
    ]);
    expect(plan(empty).changes.some(changesRegisteredVersion)).toBe(false);
  });

  it('has a digest that is the same for the same changes, and differs when the files or the engine change', () => {
    const engine = registered();
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    const number = digestPlan(plan(engine));
    expect(number).toMatch(/^[0-9a-f]{12}$/);
    expect(digestPlan(plan(structuredClone(engine)))).toBe(number);
    const other = structuredClone(engine);
    Object.assign(other.taskDefs.find(({ name }) => name === 'mdm_notify') ?? {}, { retryCount: 8 });
    expect(digestPlan(plan(other))).not.toBe(number);
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 9);
    expect(digestPlan(plan(engine))).not.toBe(number);
  });
});

describe('the diff of a change', () => {
  const lines = (engine: RegisteredDefinitions, options?: Partial<PlanOptions>) => {
    const [change] = plan(engine, options).changes;
    return change === undefined ? [] : diffOf(change);
  };

  it('one changed value: a hunk with three lines of context', () => {
    const engine = registered();
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    expect(lines(engine)).toEqual([
      '--- engine: task type mdm_notify',
      '+++ workflows/tasks/mdm_notify.json',
      '@@ -2,7 +2,7 @@',
      '   "name": "mdm_notify",',
      expect.stringContaining('   "description": "Notifies MDM'),
      '   "ownerEmail": "service-router@example.org",',
      '-  "retryCount": 10,',
      '+  "retryCount": 7,',
      '   "retryLogic": "FIXED",',
      '   "retryDelaySeconds": 5,',
      '   "responseTimeoutSeconds": 60,',
    ]);
  });

  it('keys in another order in the engine: not part of the diff', () => {
    const engine = structuredClone(registered());
    const handler = engine.eventHandlers.find(({ name }) => name === 'mdm') as Record<string, unknown>;
    const [action] = handler['actions'] as { start_workflow: { input: object } }[];
    if (action) action.start_workflow.input = Object.fromEntries(Object.entries(action.start_workflow.input).reverse());
    copy.set('event-handlers/mdm.json', ['condition'], 'true');
    expect(lines(engine).filter((line) => /^[-+] /.test(line))).toEqual([
      expect.stringMatching(/^- {2}"condition": "\$\.inbound/),
      '+  "condition": "true",',
    ]);
  });

  it('an added or removed definition: a diff from or to /dev/null, with line ranges as git writes them', () => {
    const added = plan(empty).changes.find(({ name }) => name === 'college-adaptor_intake');
    expect(diffOf(added!).slice(0, 4)).toEqual([
      '--- /dev/null',
      '+++ workflows/tasks/college-adaptor_intake.json',
      expect.stringMatching(/^@@ -0,0 \+1,\d+ @@$/),
      '+{',
    ]);
    const engine = registered();
    copy.remove('event-handlers/mdm.json');
    const removed = lines(engine, { prune: true });
    expect(removed.slice(0, 3)).toEqual([
      '--- engine: event handler mdm',
      '+++ /dev/null',
      expect.stringMatching(/^@@ -1,\d+ \+0,0 @@$/),
    ]);
    expect(removed.slice(3).every((line) => line.startsWith('-'))).toBe(true);
  });
});
