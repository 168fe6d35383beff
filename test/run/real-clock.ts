// Fails a test file that starts with a faked clock or timers. The files of a vitest worker share the global object, so
// fakes that an earlier file did not restore would keep the product's timers from firing.

import * as timers from 'node:timers';
import { beforeAll, expect, vi } from 'vitest';

const timerFunctions = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const;

beforeAll(() => {
  const faked = timerFunctions.filter((name) => globalThis[name] !== timers[name]);
  Object.assign(globalThis, Object.fromEntries(faked.map((name) => [name, timers[name]])));
  expect(faked, 'An earlier file of this worker left these timers faked.').toEqual([]);
  expect(vi.isFakeTimers(), 'An earlier file of this worker left its clock faked.').toBe(false);
});
