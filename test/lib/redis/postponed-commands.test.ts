// Tests of the list of postponed commands: its order, its limit, and its cost once it is full.

import { expect, it } from 'vitest';
import { type EventualCommand, PostponedCommands } from '#lib/redis/postponed-commands.ts';

/** How often the list has asked whether a command may be dropped before others. */
let checks = 0;
const record = (order: number): EventualCommand => {
  const command = { order, command: async () => undefined, resolve: () => undefined };
  return {
    ...command,
    get onDropped() {
      checks++;
      return () => undefined;
    },
  };
};
const release = (order: number): EventualCommand => {
  return { order, command: async () => undefined, resolve: () => undefined, onDropped: undefined };
};
/**
 * Returns a list of 10,000 commands whose `order` runs from 10,000 to 19,999.
 * @param releases the values of `order` for which the command is a release
 */
function filled(...releases: number[]): PostponedCommands {
  const list = new PostponedCommands();
  for (let order = 10_000; order < 20_000; order++)
    expect(list.add(releases.includes(order) ? release(order) : record(order))).toBeUndefined();
  return list;
}
const orders = (commands: readonly EventualCommand[]) => commands.map(({ order }) => order);

it('drops releases first, oldest first, then the oldest records', () => {
  const list = filled(12_000, 15_000);
  const dropped = [20_000, 20_001, 20_002, 20_003].map((order) => list.add(record(order))?.order);
  expect(dropped).toEqual([12_000, 15_000, 10_000, 10_001]);
  expect(list.add(release(20_004))?.order).toBe(20_004);
  expect(list.length).toBe(10_000);
  const kept = orders(list.take());
  expect(kept).toEqual(kept.toSorted((a, b) => a - b));
});

it('drops a release that was put back at the front, even after commands were taken', () => {
  const list = filled(12_000);
  expect(list.add(record(20_000))?.order).toBe(12_000);
  expect(list.add(record(20_001))?.order).toBe(10_000);
  expect(orders(list.take(2))).toEqual([10_001, 10_002]);
  expect(list.add(release(10_002))).toBeUndefined();
  expect(list.add(record(10_001))).toBeUndefined();
  expect(list.add(record(20_002))?.order).toBe(10_002);
  expect(list.add(record(20_003))?.order).toBe(10_001);
  expect(orders(list.take(1))).toEqual([10_003]);
});

it.each([
  ['without releases', []],
  ['with releases among records', [11_000, 12_000, 13_000, 14_000, 19_999]],
])('checks each command about once when 10,000 further commands exceed the limit of a list %s', (_, releases) => {
  const list = filled(...releases);
  checks = 0;
  for (let order = 20_000; order < 30_000; order++) list.add(order % 2 === 0 ? record(order) : release(order));
  expect(checks).toBeLessThan(40_000);
});
