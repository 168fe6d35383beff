// The list of all cases.

import { backEndCases } from './back-ends.ts';
import type { Case } from './case.ts';
import { clockCases } from './clocks.ts';
import { engineCases } from './engine.ts';
import { frozenCases } from './frozen.ts';
import { halfOpenCases } from './half-open.ts';
import { killCases } from './kills.ts';
import { limitCases } from './limits.ts';
import { redisCases } from './redis.ts';
import { routerCases } from './router.ts';
import { surroundingsCases } from './surroundings.ts';
import { workerCases } from './workers.ts';

export const cases: readonly Case[] = [
  ...workerCases,
  ...routerCases,
  ...engineCases,
  ...backEndCases,
  ...redisCases,
  ...surroundingsCases,
  ...clockCases,
  ...halfOpenCases,
  ...frozenCases,
  ...limitCases,
  ...killCases,
];
