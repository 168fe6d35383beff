// Tests of normalising definitions: additions of the engine are removed, except inside data; fields get a fixed order.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DefinitionKind, normaliseDefinition, orderLike } from '#lib/conductor/metadata/normalise.ts';
import { productDir } from '../definitions/copy-of-product.ts';

const product = [
  ...globSync('workflows/*.json', { cwd: productDir }).map((file) => ['workflow', file] as const),
  ...globSync('workflows/tasks/*.json', { cwd: productDir }).map((file) => ['task type', file] as const),
  ...globSync('event-handlers/*.json', { cwd: productDir }).map((file) => ['event handler', file] as const),
] satisfies (readonly [DefinitionKind, string])[];

describe('the normal form of a definition', () => {
  it.each(product)('%s %s: normalising the normal form changes nothing', (kind, file) => {
    const definition: unknown = JSON.parse(readFileSync(join(productDir, file), 'utf8'));
    const normal = normaliseDefinition(kind, definition);
    expect(normaliseDefinition(kind, normal)).toEqual(normal);
  });

  it('fields that files always have: kept even with their default value, added when the engine omits them', () => {
    const taskType = { name: 't', retryCount: 3, timeoutSeconds: 0, rateLimitPerFrequency: 0, createTime: 1 };
    expect(normaliseDefinition('task type', taskType)).toEqual({
      name: 't',
      retryCount: 3,
      retryLogic: 'FIXED',
      retryDelaySeconds: 60,
      responseTimeoutSeconds: 3_600,
      timeoutSeconds: 0,
      timeoutPolicy: 'TIME_OUT_WF',
    });
    expect(normaliseDefinition('event handler', { name: 'h', active: false })).toEqual({ name: 'h', active: false });
  });

  it('fields that the engine adds: removed at every depth, but never inside data', () => {
    const task = { name: 'a', taskReferenceName: 'a', type: 'SIMPLE', optional: false, joinOn: [] };
    const inputParameters = { optional: false, joinOn: [], createTime: 1 };
    const loop = { ...task, type: 'DO_WHILE', loopOver: [{ ...task, inputParameters }], decisionCases: {} };
    const normal = normaliseDefinition('workflow', { name: 'w', version: 1, tasks: [loop] }) as { tasks: unknown[] };
    expect(normal.tasks).toEqual([
      {
        name: 'a',
        taskReferenceName: 'a',
        type: 'DO_WHILE',
        loopOver: [{ name: 'a', taskReferenceName: 'a', type: 'SIMPLE', inputParameters }],
      },
    ]);
  });

  it('fields: in the order used in files, whatever their order in the engine; unknown fields last', () => {
    const normal = normaliseDefinition('workflow', { zeal: 1, tasks: [], version: 2, name: 'w', description: 'd' });
    const keys = Object.keys(normal as object);
    expect(keys.slice(0, 3)).toEqual(['name', 'version', 'description']);
    expect(keys.at(-1)).toBe('zeal');
  });

  it('the order of a model: its keys come first, in its order, in every object', () => {
    const ordered = orderLike({ c: 1, b: [{ y: 1, x: 2 }], a: 3 }, { a: 0, b: [{ x: 0, y: 0 }] });
    expect(JSON.stringify(ordered)).toBe('{"a":3,"b":[{"x":2,"y":1}],"c":1}');
  });
});
