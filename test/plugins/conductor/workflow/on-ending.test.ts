// Tests of listeners for the end of an execution: each is called once, and its failure has no effect on the client.

import { describe, expect, it } from 'vitest';
import { Problem } from '#lib/problem/problem.ts';
import type { ExecutionEnding, Outcome } from '../../../../plugins/conductor/execution/outcome.ts';
import type { ServeResult } from '../../../../plugins/conductor/workflow/execution-request.ts';
import { onEnding } from '../../../../plugins/conductor/workflow/on-ending.ts';

const gone: ServeResult = { outcome: Promise.resolve({ kind: 'client-gone' }) };
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('onEnding', () => {
  it('calls the listener when the outcome is known, not before', async () => {
    const endings: ExecutionEnding[] = [];
    const { promise: outcome, resolve } = Promise.withResolvers<Outcome>();
    await onEnding(
      async () => ({ outcome }),
      (ending) => void endings.push(ending),
      { error: () => undefined },
    );
    await turn();
    expect(endings).toEqual([]);
    resolve({ kind: 'client-gone' });
    await turn();
    expect(endings).toEqual([{ problem: undefined, clientGone: true }]);
  });

  it('logs the error of a listener that throws, and changes neither response nor failure', async () => {
    const logged: unknown[] = [];
    const log = { error: (...given: unknown[]) => void logged.push(given[1]) };
    const listener = () => {
      throw new Error('no such counter');
    };
    expect(await onEnding(async () => gone, listener, log)).toBe(gone);
    await turn();
    const refused = onEnding(() => Promise.reject(new Problem('engine-unavailable')), listener, log);
    await expect(refused).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(logged).toEqual(Array(2).fill('the end of an execution could not be counted'));
  });
});
