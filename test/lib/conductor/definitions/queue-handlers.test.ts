// Handlers of the broker's queues: what `check` refuses, who is active where, and that conditions and the published schema agree.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fc } from '../../../run/properties.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asConfigured } from '#lib/conductor/definitions/activation.ts';
import { checkDefinitions } from '#lib/conductor/definitions/check-definitions.ts';
import { loadDefinitions, readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { isQueueEvent, queueFields, withOrder } from '#lib/conductor/definitions/queue-events.ts';
import { type CopyOfProduct, copyOfProduct, productDir } from './copy-of-product.ts';
import { byDepth } from '../../../run/depth.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const share = 'event-handlers/mdm-update-002.json';
const record = 'event-handlers/mdm-update-record-002.json';
const start = ['actions', 0, 'start_workflow'] as const;

describe('check: a handler of a queue', () => {
  type Case = [what: string, change: (copy: CopyOfProduct) => void, problems: RegExp[]];
  const cases: Case[] = [
    [
      'whose event is not the last one',
      ({ replace }) => [share, record].forEach((file) => replace(file, 'order=162', 'order=163')),
      [/mdm-update-002\.json.*event: must be amqp_queue:mdm\.updates\.002\?order=162/, /mdm-update-record-002\.json/],
    ],
    [
      'that names an exchange, which the engine would never acknowledge',
      ({ set }) => set(share, ['event'], 'amqp_exchange:mdm.updates'),
      [/mdm-update-002\.json.*event: must match pattern/],
    ],
    [
      'whose condition is false for what is no update',
      ({ set }) => [share, record].forEach((file) => set(file, ['condition'], "$?.misCode === '002'")),
      [/mdm-update-002\.json.*condition: must throw for the message \{\}: otherwise.* lost/, /mdm-update-record-002/],
    ],
    [
      'that refuses good updates',
      ({ replace }) => [share, record].forEach((file) => replace(file, '/^002$/', '/^003$/')),
      [/mdm-update-002\.json.*condition: must be true for .*throws/, /mdm-update-record-002/],
    ],
    [
      'without a condition',
      ({ set }) => set(record, ['condition'], undefined),
      [/mdm-update-record-002\.json:1:1: a queue needs a condition/, /every handler of this event must have the same/],
    ],
    [
      'that is alone',
      ({ remove }) => remove(record),
      [/mdm-update-002\.json.*event: another handler of this event has to start mdm-updateWF/],
    ],
    [
      'whose workers are elsewhere',
      ({ set }) => set(share, [...start, 'taskToDomain'], {}),
      [/mdm-update-002\.json.*taskToDomain: must be \{"mdm_share":"002"\}/],
    ],
    [
      'that passes on a field which no message has',
      ({ set }) => set(share, [...start, 'input', 'requestId'], '${requestId}'),
      [/mdm-update-002\.json.*\$\{requestId\}.* carries no "requestId"/],
    ],
  ];
  it.each(cases)('%s: refused', (_what, change, problems) => {
    change(copy);
    const found = checkDefinitions(readDefinitions(copy.dir), { domains: {}, routes: [], backEndTimeoutMs: 20_000 });
    expect(found).toEqual(problems.map((pattern) => expect.stringMatching(pattern) as string));
  });
});

describe('the order of events', () => {
  // As java.util.HashSet has them (Java 25).
  it.each(['002', '003'])('the number of college %s is the one that Java agrees with', (code) => {
    const expected = { '002': 162, '003': 190 }[code];
    expect(withOrder(`amqp_queue:mdm.updates.${code}`)).toBe(`amqp_queue:mdm.updates.${code}?order=${expected}`);
  });
});

describe('which handlers an engine gets as active ones', () => {
  const activeIn = (updateQueue: boolean) =>
    asConfigured(loadDefinitions(productDir), { 'mdm.updateQueue': updateQueue })
      .eventHandlers.filter(({ definition }) => definition.active)
      .map(({ definition }) => definition.name);
  const own = ['mdm-share-002', 'mdm'];
  const queue = ['mdm-update-002', 'mdm-update-record-002'];

  it('without mdm.updateQueue: those of its own events', () => {
    expect(activeIn(false).toSorted()).toEqual(own.toSorted());
  });
  it('with it: those of the queues too', () => {
    expect(activeIn(true).toSorted()).toEqual([...own, ...queue].toSorted());
  });
});

describe('the published schema of an update', () => {
  const schema = JSON.parse(readFileSync(join(productDir, 'lib/openapi/mdm-update.schema.json'), 'utf8')) as {
    required: string[];
    examples: Record<string, string>[];
  };
  const validate = new Ajv2020().compile(schema);
  const handlers = loadDefinitions(productDir).eventHandlers.filter(({ definition }) => isQueueEvent(definition.event));
  const conditions = handlers.map(
    ({ definition }) =>
      new Script(`($) => (${definition.condition})`).runInThisContext() as (message: unknown) => unknown,
  );
  const accepts = (condition: (message: unknown) => unknown, message: unknown): boolean => {
    try {
      return condition(message) === true;
    } catch {
      return false;
    }
  };
  const example = schema.examples[0]!;

  it('its example passes schema and conditions, and its fields are those that handlers may pass on', () => {
    expect(validate(example)).toBe(true);
    expect(schema.required.toSorted()).toEqual([...queueFields].toSorted());
    expect(conditions).toHaveLength(2);
    for (const condition of conditions) expect(accepts(condition, example)).toBe(true);
  });

  it('whatever the fields hold, condition and schema say the same', () => {
    const characters = fc.constantFrom(...'aZ09_-.~:@+ ${}"\\é\n'.split(''));
    const value = fc.oneof(
      { weight: 6, arbitrary: fc.string({ unit: characters, maxLength: 4 }) },
      { weight: 2, arbitrary: fc.nat(80).map((length) => 'x'.repeat(length)) },
      { weight: 1, arbitrary: fc.constantFrom(null, 17, true, [], {}) },
    );
    const message = fc.record({ sisPersonId: value, cccid: value, updateId: value }, { requiredKeys: [] });
    fc.assert(
      fc.property(message, (fields) => {
        const update = { misCode: '002', ...fields };
        for (const condition of conditions) expect(accepts(condition, update)).toBe(validate(update));
      }),
      { numRuns: byDepth(500, 5_000) },
    );
  });
});
