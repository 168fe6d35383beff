// How the last reload went, as metrics and as notices of `/health/ready`.

import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReadinessChecks } from '../../operations/readiness.ts';

/** Of a list of problems, those that a notice shows. */
const mostShown = 20;

export class ReloadState {
  readonly #reloads: Counter<'result'>;
  readonly #successful: Gauge;
  readonly #succeededAt: Gauge;
  readonly #needRestart: Gauge;
  #refusal: readonly string[] = [];
  #waiting: readonly string[] = [];

  /** The start of the router counts as a load that succeeded, not as a reload. */
  constructor(metrics: Registry, readiness: ReadinessChecks) {
    const registers = [metrics];
    this.#successful = new Gauge({
      name: 'router_config_last_reload_successful',
      help: '1 when the configuration that was loaded last is in force, 0 when it was refused',
      registers,
    });
    this.#succeededAt = new Gauge({
      name: 'router_config_last_reload_success_timestamp_seconds',
      help: 'When the configuration in force was loaded (Unix time)',
      registers,
    });
    this.#reloads = new Counter({
      name: 'router_config_reloads_total',
      help: 'Reloads of the configuration',
      labelNames: ['result'],
      registers,
    });
    this.#needRestart = new Gauge({
      name: 'router_config_keys_awaiting_restart',
      help: 'Changed keys that only a restart takes up',
      registers,
    });
    for (const result of ['applied', 'refused']) this.#reloads.inc({ result }, 0);
    this.#note();
    readiness.addNotice('configuration', () => [...this.#refusal, ...this.#waiting]);
  }

  /** @param needRestart keys that were not taken up */
  applied(needRestart: readonly string[]): void {
    this.#reloads.inc({ result: 'applied' });
    this.#refusal = [];
    this.#waiting =
      needRestart.length === 0 ? [] : [`changed, but taken up only by a restart: ${needRestart.join(', ')}`];
    this.#needRestart.set(needRestart.length);
    this.#note();
  }

  refused(problems: readonly string[]): void {
    this.#reloads.inc({ result: 'refused' });
    this.#successful.set(0);
    this.#refusal = [
      `the reload at ${new Date().toISOString()} was refused, the configuration of before is in force:`,
      ...problems.slice(0, mostShown),
    ];
  }

  #note(): void {
    this.#successful.set(1);
    this.#succeededAt.set(Date.now() / 1_000);
  }
}
