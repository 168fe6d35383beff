// Loads the configuration anew while the router serves: built aside, checked, swapped at once, or refused as a whole.

import { applicable } from '#lib/config/restart-keys.ts';
import type { LoadedConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { errorFields } from '#lib/telemetry/logging/log.ts';
import { buildSnapshot } from '../build-snapshot.ts';
import type { ConfigSnapshot } from '../config-snapshot.ts';
import type { GatewayHost } from '../gateway-host.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { ReloadState } from './reload-state.ts';

export interface ReloaderOptions {
  readonly house: GatewayHost;
  /** What the router was started with: what needs a restart stays so. */
  readonly started: Pick<ConfigSnapshot, 'config' | 'gateway'>;
  /** Reads every layer of the configuration. @throws ConfigError */
  readonly loadConfig: () => Promise<Pick<LoadedConfig, 'config' | 'keepCopies'>>;
  readonly gatewayConfigFile: string;
  readonly rootDir: string;
}

export class Reloader {
  readonly #options: ReloaderOptions;
  readonly #state: ReloadState;
  readonly #turns = new OneAtATime((reason) => this.#reload(reason));

  constructor(options: ReloaderOptions) {
    this.#options = options;
    const { services, checks } = options.house;
    this.#state = new ReloadState(services.metrics, checks);
  }

  /**
   * Takes up what the files say now. Never rejects: what is wrong is in the log, in the metrics and in `/health/ready`.
   * @param reason what asks for it, for the log
   */
  reload(reason: string): Promise<void> {
    return this.#turns.ask(reason);
  }

  /** Resolves when none is under way. After a drain has begun none takes anything up. */
  idle(): Promise<void> {
    return this.#turns.idle();
  }

  async #reload(reason: string): Promise<void> {
    const { house } = this.#options;
    const { log, draining } = house.services;
    const giveUp = () => log.info({ reason }, 'the router is stopping: the configuration is not reloaded');
    if (draining.aborted) return giveUp();
    const startedAt = performance.now();
    try {
      const loaded = await this.#options.loadConfig();
      const { generation, needRestart } = await this.#build(loaded.config);
      if (draining.aborted) {
        await generation.stop();
        return giveUp();
      }
      house.activate(generation);
      this.#state.applied(needRestart);
      loaded.keepCopies((problem) => log.warn(problem));
      const durationMs = Math.round(performance.now() - startedAt);
      log.info({ reason, durationMs }, 'the configuration was reloaded');
      if (needRestart.length > 0)
        log.warn({ keys: needRestart }, `these keys are taken up only by a restart: ${needRestart.join(', ')}`);
    } catch (error) {
      if (draining.aborted) return giveUp();
      const problems = problemsOf(error);
      this.#state.refused(problems);
      log.error(
        { reason, problems, ...causeOf(error) },
        'the configuration was refused: the one of before is in force',
      );
    }
  }

  async #build(loaded: Config): Promise<{ generation: ConfigSnapshot; needRestart: readonly string[] }> {
    const { house, started, gatewayConfigFile, rootDir } = this.#options;
    const { services, parts, knownFiles } = house;
    const { config, needRestart } = applicable(loaded, started.config);
    const generation = await buildSnapshot({
      config,
      gatewayConfigFile,
      rootDir,
      house: services,
      parts,
      knownFiles,
    });
    try {
      const problems = await generation.problems();
      if (problems.length > 0) throw new ActivationError(problems);
    } catch (error) {
      await generation.stop();
      throw error;
    }
    const { http } = generation.gateway.gatewayConfig;
    const { http: before } = started.gateway.gatewayConfig;
    const addresses = (['hostname', 'port'] as const).filter((key) => http[key] !== before[key]);
    return { generation, needRestart: [...needRestart, ...addresses.map((key) => `http.${key} of the map`)] };
  }
}

/** The configuration is sound in itself, but something that it needs is not there. */
class ActivationError extends Error {
  override readonly name = 'TakeOverError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** Errors that list their problems have nothing more to say. */
function causeOf(error: unknown): Record<string, unknown> {
  return 'problems' in Object(error) ? {} : errorFields(error);
}

function problemsOf(error: unknown): readonly string[] {
  const { problems, message } = error as { problems?: readonly string[]; message?: string };
  return problems ?? [message ?? String(error)];
}
