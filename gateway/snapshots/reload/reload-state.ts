// Reports the result of the last reload in metrics and in notices of `/health/ready`.

import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReadinessChecks } from '../../operations/readiness.ts';

/** Maximum number of problems that a notice lists. */
const mostShown = 20;

/** The result of the last reload. The initial load counts as a success, but not as a reload. */
export class ReloadState {
  readonly #reloads: Counter<'result'>;
  readonly #successful: Gauge;
  readonly #succeededAt: Gauge;
  readonly #needRestart: Gauge;
  #rejectionNotices: readonly string[] = [];
  #restartNotices: readonly string[] = [];

  /** Registers the metrics and the notice `configuration`. */
  constructor(metrics: Registry, readiness: ReadinessChecks) {
    const registers = [metrics];
    this.#successful = new Gauge({
      name: 'router_config_last_reload_successful',
      help: '1 when the configuration that was loaded last is active, 0 when it was refused',
      registers,
    });
    this.#succeededAt = new Gauge({
      name: 'router_config_last_reload_success_timestamp_seconds',
      help: 'Time at which the active configuration was loaded (Unix time)',
      registers,
    });
    this.#reloads = new Counter({
      name: 'router_config_reloads_total',
      help: 'Reloads of the configuration: applied or refused',
      labelNames: ['result'],
      registers,
    });
    this.#needRestart = new Gauge({
      name: 'router_config_keys_awaiting_restart',
      help: 'Changed keys that take effect only after a restart',
      registers,
    });
    for (const result of ['applied', 'refused']) this.#reloads.inc({ result }, 0);
    this.#recordSuccess();
    readiness.addNotice('configuration', () => [...this.#rejectionNotices, ...this.#restartNotices]);
  }

  /** Records a successful reload. @param needRestart changed keys that take effect only after a restart */
  applied(needRestart: readonly string[]): void {
    this.#reloads.inc({ result: 'applied' });
    this.#rejectionNotices = [];
    this.#restartNotices =
      needRestart.length === 0 ? [] : [`changed keys that take effect only after a restart: ${needRestart.join(', ')}`];
    this.#needRestart.set(needRestart.length);
    this.#recordSuccess();
  }

  /** Records a rejected configuration. @param problems one line each */
  refused(problems: readonly string[]): void {
    this.#reloads.inc({ result: 'refused' });
    this.#successful.set(0);
    this.#rejectionNotices = [
      `the reload at ${new Date().toISOString()} was refused; the previous configuration stays active:`,
      ...problems.slice(0, mostShown),
    ];
  }

  #recordSuccess(): void {
    this.#successful.set(1);
    this.#succeededAt.set(Date.now() / 1_000);
  }
}
