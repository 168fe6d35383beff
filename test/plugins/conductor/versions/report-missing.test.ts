// Tests of the log lines about versions that the engine does not have: nothing is logged while the engine is starting
// or its definitions are being registered.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { EngineResponse } from '#lib/conductor/engine.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { missingFrom } from '../../../../plugins/conductor/readiness.ts';
import { reportMissing } from '../../../../plugins/conductor/report-missing.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Returns an engine that responds after `startMs` and gets its definitions `registeredMs` later. */
function startingEngine({ startMs, registeredMs }: { startMs: number; registeredMs: number }) {
  const createdAt = performance.now();
  const request = async () => {
    const upMs = performance.now() - createdAt - startMs;
    if (upMs < 0) throw new EngineError('unreachable', 'it is starting');
    return { status: upMs < registeredMs ? 404 : 200 } as EngineResponse;
  };
  return { request };
}

async function errorsOf(engine: ReturnType<typeof startingEngine>): Promise<string[]> {
  const errors: string[] = [];
  const log = { error: (line: string) => errors.push(line) } as unknown as Logger;
  const report = reportMissing(() => missingFrom(engine, [{ name: 'moviesWF', version: 1 }]), log);
  await vi.advanceTimersByTimeAsync(120_000);
  report.stop();
  return errors;
}

describe('reportMissing', () => {
  it('logs nothing for an engine that starts late and gets its definitions soon after', async () => {
    expect(await errorsOf(startingEngine({ startMs: 9_800, registeredMs: 3_000 }))).toEqual([]);
    expect(await errorsOf(startingEngine({ startMs: 60_000, registeredMs: 3_000 }))).toEqual([]);
  });

  it('logs once which versions are missing from an engine that starts late', async () => {
    expect(await errorsOf(startingEngine({ startMs: 60_000, registeredMs: Number.POSITIVE_INFINITY }))).toEqual([
      'workflow moviesWF version 1 is not registered',
    ]);
  });

  it('logs the missing versions when the engine responds again after an outage at the end of the grace period', async () => {
    const engine = startingEngine({ startMs: 1_000, registeredMs: Number.POSITIVE_INFINITY });
    const createdAt = performance.now();
    const isAway = () => performance.now() - createdAt > 8_000 && performance.now() - createdAt < 30_000;
    const request = async () => (isAway() ? Promise.reject(new EngineError('unreachable', 'away')) : engine.request());
    expect(await errorsOf({ request })).toEqual(['workflow moviesWF version 1 is not registered']);
  });
});
