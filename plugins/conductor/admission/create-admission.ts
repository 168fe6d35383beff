// Puts admission control together from the configuration.

import { Engine, type EngineCall } from '../../../conductor/engine.ts';
import type { Config } from '../../../config/schema.ts';
import type { Policy, RouterServices } from '../../../gateway/contract.ts';
import { AdaptiveLimit } from './adaptive-limit.ts';
import { Admission } from './admission.ts';
import { createAdmissionMetrics } from './admission-metrics.ts';
import { createAdmissionPolicy } from './admission-policy.ts';
import { BackEnds } from './back-ends.ts';
import type { BreakerOptions, BreakerState } from './circuit-breaker.ts';
import { EngineBreaker } from './engine-breaker.ts';
import { Slots } from './slots.ts';

export interface AdmissionControl {
  readonly policy: Policy;
  /** To be told of every call to the engine. */
  observe(call: EngineCall): void;
  /** To be told when a task of an execution has left for a worker. */
  handedOut(executionId: string): void;
}

const healthTimeoutMs = 1_000;

/** Registers its metrics, its readiness and its stop. */
export function createAdmission(services: RouterServices): AdmissionControl {
  const { config, log } = services;
  const limit = new AdaptiveLimit({
    min: config['admission.minLimit'],
    initial: config['admission.initialLimit'],
    max: config['admission.maxLimit'],
  });
  const slots = new Slots({
    limits: { waiting: () => limit.value, inFlight: () => config['admission.maxInFlight'] },
    queueLength: config['admission.queueLength'],
    queueMs: config['admission.queueMs'],
    laneSharePercent: config['admission.backEndSharePercent'],
    reservedPercent: config['admission.reservedPercent'],
  });
  const changed = (breaker: string, state: BreakerState) => {
    metrics.breakerChanged(breaker, state);
    log[state === 'open' ? 'warn' : 'info']({ breaker, state }, 'a circuit breaker changed');
  };
  const backEnds = new BackEnds(breakerOptions(config, 'backEnd'), changed);
  const health = new Engine({ url: config['conductor.url'], timeoutMs: healthTimeoutMs, connections: 1 });
  const engine = new EngineBreaker({
    ...breakerOptions(config, 'engine'),
    isHealthy: async () => (await health.request({ method: 'GET', path: '/health' })).status === 200,
    onChange: (state) => changed('engine', state),
  });
  const metrics = createAdmissionMetrics(services.metrics, () => ({
    slots,
    limit: () => limit.value,
    backEnds,
    engine,
  }));
  const admission = new Admission({ limit, slots, engine, metrics });

  services.addReadinessCheck('engine-breaker', async () =>
    engine.state === 'open' ? ['the circuit breaker of the engine is open'] : [],
  );
  services.addReadinessNotice('back-ends', () =>
    backEnds.heardOf
      .filter(({ breaker }) => breaker.state !== 'closed')
      .map(({ name, breaker }) => `${name}: its circuit breaker is ${breaker.state}`),
  );
  services.onStop('admission', async () => {
    engine.stop();
    await health.close();
  });
  return {
    policy: createAdmissionPolicy(admission, backEnds, config['router.maxBodyBytes']),
    observe: (call) => admission.observe(call),
    handedOut: (executionId) => admission.handedOut(executionId),
  };
}

function breakerOptions(config: Config, of: 'engine' | 'backEnd'): BreakerOptions {
  return {
    windowMs: config[`breaker.${of}.windowMs`],
    minCalls: config[`breaker.${of}.minCalls`],
    failurePercent: config[`breaker.${of}.failurePercent`],
    openMs: config[`breaker.${of}.openMs`],
  };
}
