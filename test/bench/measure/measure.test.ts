// Tests of the order of measurements, and of the counts during a sample.

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sumOfCounts } from '../../../bench/measure/engine-calls.ts';
import { growthOf } from '../../../bench/measure/growth.ts';
import { measure } from '../../../bench/measure/measure.ts';
import { planSteps } from '../../../bench/measure/plan.ts';
import { difference, processorMs, residentMiB } from '../../../bench/measure/processes.ts';
import { requires } from '../../run/requirements.ts';

describe('the plan', () => {
  const steps = planSteps({ targets: ['a', 'b', 'c'], inFlight: [1, 8], repetitions: 3 });

  it('has every target once at every load in every repetition', () => {
    expect(new Set(steps.map((step) => JSON.stringify(step))).size).toBe(3 * 2 * 3);
  });

  it('begins with a different target each time', () => {
    const atOne = steps.filter(({ inFlight }) => inFlight === 1);
    expect([0, 3, 6].map((index) => atOne[index]?.target)).toEqual(['a', 'b', 'c']);
  });
});

describe('a measurement', () => {
  it('starts and stops its target each time, and counts only the calls of targets that use the engine', async () => {
    const events: string[] = [];
    const engine = { calls: 0 };
    const targetOf = (name: string, usesEngine: boolean) => ({
      name,
      text: `about ${name}`,
      usesEngine,
      start: async () => void events.push(`start ${name}`),
      request: async () => {
        if (usesEngine) engine.calls += 4;
        await delay(1);
      },
      stop: async () => void events.push(`stop ${name}`),
    });
    const results = await measure({
      ...{ targets: [targetOf('floor', true), targetOf('direct', false)], inFlight: [2], repetitions: 2 },
      ...{ seconds: 0.03, warmUpSeconds: 0.01, processes: {}, onStep: () => {} },
      countEngineCalls: async () => engine.calls,
    });
    expect(results.map(({ target, text }) => [target, text])).toEqual([
      ['floor', 'about floor'],
      ['direct', 'about direct'],
    ]);
    expect(results.map(({ figures }) => figures.engineCallsPerRequest)).toEqual([4, undefined]);
    const lives = ['floor', 'direct', 'floor', 'direct', 'direct', 'floor'];
    expect(events).toEqual(lives.flatMap((name) => [`start ${name}`, `stop ${name}`]));
  });
});

describe("the engine's count", () => {
  it('is the sum over its API, without health and metrics', () => {
    const line = (uri: string, count: string) =>
      `http_server_requests_seconds_count{error="none",method="GET",status="200",uri="${uri}"} ${count}`;
    const metrics = [
      '# TYPE http_server_requests_seconds summary',
      line('/api/workflow', '12'),
      line('/api/tasks/poll/batch/{tasktype}', '1.5E3'),
      line('/actuator/prometheus', '7'),
      'http_server_requests_seconds_sum{uri="/api/workflow"} 99',
    ].join('\n');
    expect(sumOfCounts(metrics)).toBe(1_512);
  });
});

describe('memory growth', () => {
  it('is measured from the second tenth of the requests to the last', () => {
    const readings = [0, 15, 50, 95, 100].map((requests) => ({ requests, memory: { router: 100 + requests } }));
    expect(growthOf(readings, 100)).toEqual({ router: { before: 115, after: 197.5 } });
  });
});

describe('the readings of processes', requires('linux'), () => {
  it('include this process, and leave out a process that has ended', () => {
    const processes = { own: [process.pid], gone: [2 ** 22 + 1] };
    expect(residentMiB(processes)).toEqual({ own: expect.closeTo(process.memoryUsage.rss() / 2 ** 20, -2) });
    const before = processorMs(processes);
    expect(Object.keys(before)).toEqual(['own']);
    expect(before['own']).toBeGreaterThan(0);
    expect(difference({ own: 10 }, { own: 25, later: 3 })).toEqual({ own: 15 });
  });
});
