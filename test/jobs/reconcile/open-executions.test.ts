// Tests of the reconciler's work list when rows of the index lag behind the engine.

import { describe, expect, it } from 'vitest';
import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import { OpenExecutions } from '../../../jobs/reconcile/open-executions.ts';

const minute = 60_000;
const running = { workflowId: 'e-1', workflowType: 'mdm-shareWF', status: 'RUNNING' } as ExecutionSummary;

describe('an ended execution that the index still lists as running', () => {
  const start = 1_795_275_400_000;
  /** Returns a work list from which the execution was removed at `start`. */
  const listWithout = () => {
    const list = new OpenExecutions(minute);
    list.add(running, 'share', start);
    list.remove('e-1', start);
    return list;
  };
  const isDueAt = (list: OpenExecutions, now: number) => {
    list.add(running, 'share', now);
    return list.due(now).length === 1;
  };

  it('is inspected again after ten minutes, because an operator may have retried it', () => {
    const list = listWithout();
    expect(isDueAt(list, start + minute)).toBe(false);
    expect(isDueAt(list, start + 10 * minute)).toBe(true);
  });

  it('is inspected again at once when the clock has been set back', () => {
    const list = listWithout();
    list.makeAllDue(start - 60 * minute);
    expect(isDueAt(list, start - 60 * minute)).toBe(true);
  });
});
