// All cases.

import { backEndCases } from './back-ends.ts';
import type { Case } from './case.ts';
import { engineCases } from './engine.ts';
import { frozenCases } from './frozen.ts';
import { limitCases } from './limits.ts';
import { routerCases } from './router.ts';
import { surroundingsCases } from './surroundings.ts';
import { workerCases } from './workers.ts';

export const cases: readonly Case[] = [
  ...workerCases,
  ...routerCases,
  ...engineCases,
  ...backEndCases,
  ...surroundingsCases,
  ...frozenCases,
  ...limitCases,
];
