// Creates admission control from the configuration.

import { Engine } from '#lib/conductor/engine.ts';
import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { AdaptiveLimit } from './adaptive-limit.ts';
import { Admission } from './admission.ts';
import { createAdmissionMetrics } from './admission-metrics.ts';
import { BackEnds } from './back-ends.ts';
import type { BreakerState, BreakerThresholds } from './circuit-breaker.ts';
import { EngineBreaker } from './engine-breaker.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';

/** Admission control, and the back ends that it knows. */
export interface AdmissionControl {
  readonly admission: Admission;
  readonly backEnds: BackEnds;
}

const healthTimeoutMs = 1_000;

/**
 * Creates admission control and registers its metrics, its readiness check and its stop hook. Limits and thresholds
 * follow the active configuration.
 */
export function createAdmission(services: SharedServices): AdmissionControl {
  const { config, log } = services;
  const limit = createLimit(config);
  const limiter = createLimiter(config, limit);
  const changed = (breaker: string, state: BreakerState) => {
    metrics.breakerChanged(breaker, state);
    log[state === 'open' ? 'warn' : 'info']({ breaker, state }, 'a circuit breaker changed state');
  };
  const backEnds = new BackEnds(() => thresholdsOf(config, 'backEnd'), changed);
  const health = new Engine({ url: config['conductor.url'], timeoutMs: healthTimeoutMs, connections: 1 });
  const engine = new EngineBreaker({
    thresholds: () => thresholdsOf(config, 'engine'),
    isHealthy: async () => (await health.request({ method: 'GET', path: '/health' })).status === 200,
    onChange: (state) => changed('engine', state),
  });
  const metrics = createAdmissionMetrics(services.metrics, () => ({
    limiter,
    limit: () => limit.value,
    backEnds,
    engine,
  }));
  const admission = new Admission({ limit, limiter, engine, metrics });

  services.addReadinessCheck('engine-breaker', async () =>
    engine.state === 'open' ? ['the circuit breaker of the engine is open'] : [],
  );
  services.addReadinessNotice('back-ends', () =>
    backEnds.observed
      .filter(({ breaker }) => breaker.state !== 'closed')
      .map(({ name, breaker }) => `${name}: its circuit breaker is ${breaker.state}`),
  );
  services.onStop('admission', async () => {
    engine.stop();
    await health.close();
  });
  return { admission, backEnds };
}

function createLimit(config: Config): AdaptiveLimit {
  return new AdaptiveLimit({
    initial: config['admission.initialLimit'],
    get min() {
      return config['admission.minLimit'];
    },
    get max() {
      return config['admission.maxLimit'];
    },
  });
}

function createLimiter(config: Config, limit: AdaptiveLimit): ConcurrencyLimiter {
  return new ConcurrencyLimiter({
    limits: { waiting: () => limit.value, inFlight: () => config['admission.maxInFlight'] },
    get queueLength() {
      return config['admission.queueLength'];
    },
    get queueMs() {
      return config['admission.queueMs'];
    },
    get bulkheadSharePercent() {
      return config['admission.backEndSharePercent'];
    },
  });
}

function thresholdsOf(config: Config, of: 'engine' | 'backEnd'): BreakerThresholds {
  return {
    windowMs: config[`breaker.${of}.windowMs`],
    minCalls: config[`breaker.${of}.minCalls`],
    failurePercent: config[`breaker.${of}.failurePercent`],
    openMs: config[`breaker.${of}.openMs`],
  };
}
