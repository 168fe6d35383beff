// Reloads the configuration without a restart: builds and checks a new snapshot, then activates or rejects it as a
// whole.

import { setTimeout as pause } from 'node:timers/promises';
import { ProblemsError } from '#lib/config/problems-error.ts';
import { applicable } from '#lib/config/restart-keys.ts';
import { ConfigError, type LoadedConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { errorFields } from '#lib/telemetry/logging/log.ts';
import { pluginDeadlineMs } from '../../configuration/load-plugins.ts';
import { buildSnapshot } from '../build-snapshot.ts';
import type { ConfigSnapshot } from '../config-snapshot.ts';
import type { GatewayHost } from '../gateway-host.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { ReloadState } from './reload-state.ts';

/** Options of {@link Reloader}. */
export interface ReloaderOptions {
  readonly gatewayHost: GatewayHost;
  /** The first snapshot. Keys that take effect only after a restart keep the values of this snapshot. */
  readonly started: Pick<ConfigSnapshot, 'config' | 'gateway'>;
  /** Loads all configuration layers; gives up when the signal aborts. @throws ConfigError */
  readonly loadConfig: (signal: AbortSignal) => Promise<Omit<LoadedConfig, 'origins'>>;
  readonly gatewayConfigFile: string;
  readonly rootDir: string;
}

/** The logged reason for a repeated reload. */
const repetition = 'the previous reload could not fetch a remote file';

/** Reloads the configuration on request, one reload at a time. */
export class Reloader {
  readonly #options: ReloaderOptions;
  readonly #state: ReloadState;
  readonly #runner = new OneAtATime((reason) => this.#reload(reason));
  /** True after a reload that could not fetch a remote file, until the next reload starts. */
  #isOutage = false;
  /** Problems that have been logged since the last reload that was not a repetition. */
  readonly #loggedProblems = new Set<string>();

  constructor(options: ReloaderOptions) {
    this.#options = options;
    const { services, checks } = options.gatewayHost;
    this.#state = new ReloadState(services.metrics, checks);
  }

  /**
   * Reloads the configuration. Never rejects: failures are reported in the log, the metrics and `/health/ready`.
   * @param reason what requested the reload, for the log
   */
  reload(reason: string): Promise<void> {
    return this.#runner.request(reason);
  }

  /**
   * Repeats the last reload if it was refused because a remote file could not be fetched. Problems that are known from
   * earlier attempts are not logged again.
   */
  async repeatAfterOutage(): Promise<void> {
    if (this.#isOutage) await this.reload(repetition);
  }

  /**
   * Resolves when no reload is in progress, or after `maxMs` milliseconds, because a reload may be waiting for a plugin
   * that hangs.
   */
  async idle(maxMs: number): Promise<void> {
    await Promise.race([this.#runner.idle(), pause(maxMs, undefined, { ref: false })]);
  }

  async #reload(reason: string): Promise<void> {
    const { gatewayHost } = this.#options;
    const { log, draining } = gatewayHost.services;
    const giveUp = () => log.info({ reason }, 'the router is stopping: the configuration is not reloaded');
    this.#isOutage = false;
    if (reason !== repetition) this.#loggedProblems.clear();
    if (draining.aborted) return giveUp();
    const startedAt = performance.now();
    try {
      const loaded = await this.#options.loadConfig(draining);
      const { snapshot, needRestart } = await this.#build(loaded.config);
      if (draining.aborted) {
        await snapshot.stop();
        return giveUp();
      }
      gatewayHost.activate(snapshot);
      this.#state.applied(needRestart);
      loaded.warnings.forEach((warning) => log.warn(warning));
      loaded.keepCopies((problem) => log.warn(problem));
      const durationMs = Math.round(performance.now() - startedAt);
      log.info({ reason, durationMs }, 'the configuration was reloaded');
      if (needRestart.length > 0)
        log.warn({ keys: needRestart }, `these keys take effect only after a restart: ${needRestart.join(', ')}`);
    } catch (error) {
      if (draining.aborted) return giveUp();
      const problems = problemsOf(error);
      this.#isOutage = error instanceof ConfigError && error.isOutage;
      this.#state.refused(problems);
      if (problems.every((problem) => this.#loggedProblems.has(problem))) return;
      problems.forEach((problem) => this.#loggedProblems.add(problem));
      log.error(
        { reason, problems, ...causeOf(error) },
        'the configuration was refused: the previous one stays active',
      );
    }
  }

  async #build(loaded: Config): Promise<{ snapshot: ConfigSnapshot; needRestart: readonly string[] }> {
    const { gatewayHost, started, gatewayConfigFile, rootDir } = this.#options;
    const { services, sharedResources, knownFiles } = gatewayHost;
    const { config, needRestart } = applicable(loaded, started.config);
    const snapshot = await buildSnapshot({
      config,
      gatewayConfigFile,
      rootDir,
      hostServices: services,
      sharedResources,
      knownFiles,
      initDeadlineMs: pluginDeadlineMs,
    });
    try {
      const problems = await snapshot.activationProblems();
      if (problems.length > 0) throw new ProblemsError(problems);
    } catch (error) {
      await snapshot.stop();
      throw error;
    }
    const { http } = snapshot.gateway.gatewayConfig;
    const { http: atStart } = started.gateway.gatewayConfig;
    const addresses = (['hostname', 'port'] as const).filter((key) => http[key] !== atStart[key]);
    return {
      snapshot,
      needRestart: [...needRestart, ...addresses.map((key) => `http.${key} of the gateway configuration`)],
    };
  }
}

/** Log fields of the cause; none for errors that list their problems. */
function causeOf(error: unknown): Record<string, unknown> {
  return 'problems' in Object(error) ? {} : errorFields(error);
}

function problemsOf(error: unknown): readonly string[] {
  const { problems, message } = error as { problems?: readonly string[]; message?: string };
  return problems ?? [message ?? String(error)];
}
