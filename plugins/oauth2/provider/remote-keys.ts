// Caches the identity provider's keys. They are fetched in the background, and on demand for an unknown `kid`. They are
// kept while the provider is unavailable.

import { createHash, type KeyObject } from 'node:crypto';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { Clock } from '../clock.ts';
import type { OAuthMetrics } from '../metrics.ts';
import { type Algorithm, type KeySet, parseKeySet } from './key-set.ts';
import { ProviderError } from './provider-error.ts';
import type { ProviderHttp } from './provider-http.ts';
import type { ProviderMetadata } from './provider-metadata.ts';

/** Settings of {@link RemoteKeys}. */
export interface RemoteKeysOptions {
  algorithms: ReadonlySet<Algorithm>;
  /**
   * Pause between two background fetches, in milliseconds. While fetches succeed, a key that the provider has removed
   * is accepted for at most this time.
   */
  cacheMs: number;
  metadata: ProviderMetadata;
  http: ProviderHttp;
  clock: Clock;
  metrics: OAuthMetrics;
  log: Logger;
}

/** Minimum time between fetches that requests trigger, in milliseconds, however many unknown keys they name. */
const cooldownMs = 5_000;
/** Maximum age of the last fetched keys, in milliseconds; older keys are not trusted. */
const maxStaleMs = 24 * 3_600_000;
const firstRetryMs = 250;
const longestRetryMs = 5_000;
const maxBytes = 1_048_576;

/** A key, and the {@link RemoteKeys.version} of the set in which it was found. */
export interface FoundKey {
  readonly key: KeyObject;
  readonly version: number;
}

interface LoadedKeys {
  readonly set: KeySet;
  readonly digest: string;
  readonly version: number;
  atMs: number;
}

/** The key cache. It is empty until `start` has fetched the keys. */
export class RemoteKeys {
  readonly #options: RemoteKeysOptions;
  #loaded: LoadedKeys | undefined;
  #failure: ProviderError | undefined;
  #failures = 0;
  #demandedAtMs = Number.NEGATIVE_INFINITY;
  #inFlight: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #stopped = false;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
  }

  /** Starts fetching in the background and returns at once. */
  start(): void {
    void this.#refresh();
  }

  /** Ends the background fetches. Keys that are loaded remain usable. */
  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  /** Resolves when the current fetch has ended, successful or not. */
  get fetched(): Promise<void> {
    return this.#inFlight ?? Promise.resolve();
  }

  /** Version of the key set; changes whenever the keys change. Undefined while there are no usable keys. */
  get version(): number | undefined {
    return this.#current()?.version;
  }

  /** Reason why no token can be verified; undefined when tokens can be verified. */
  get unavailable(): string | undefined {
    if (this.#current() !== undefined) return undefined;
    return `the keys of the identity provider are not loaded: ${this.#failure?.message ?? 'the first fetch has not ended'}`;
  }

  /**
   * Returns the key with this `kid` for signatures of `algorithm`; undefined when the provider has none.
   * @throws ProviderError when it is unknown whether the provider has this key, because there are no usable keys, or
   *   because `kid` is new and the provider is unavailable
   */
  async find(kid: string, algorithm: Algorithm): Promise<FoundKey | undefined> {
    if (this.#current()?.set.has(kid) !== true) await this.#refreshOnDemand();
    const keys = this.#current();
    if (keys === undefined) throw new ProviderError('no-keys', this.unavailable ?? 'no keys', { cause: this.#failure });
    const candidates = keys.set.get(kid);
    if (candidates === undefined && this.#failure !== undefined) throw this.#failure;
    const found = candidates?.find(({ algorithms }) => algorithms.includes(algorithm));
    return found && { key: found.key, version: keys.version };
  }

  #current(): LoadedKeys | undefined {
    const loaded = this.#loaded;
    if (loaded === undefined || loaded.set.size === 0) return undefined;
    return this.#options.clock.ticksMs() - loaded.atMs < maxStaleMs ? loaded : undefined;
  }

  async #refreshOnDemand(): Promise<void> {
    if (this.#inFlight === undefined) {
      const nowMs = this.#options.clock.ticksMs();
      if (nowMs - this.#demandedAtMs < cooldownMs) return;
      this.#demandedAtMs = nowMs;
    }
    await this.#refresh();
  }

  /** Fetches the keys. Concurrent callers share one fetch. Never rejects. */
  #refresh(): Promise<void> {
    this.#inFlight ??= this.#fetch().finally(() => {
      this.#inFlight = undefined;
      this.#schedule();
    });
    return this.#inFlight;
  }

  async #fetch(): Promise<void> {
    const { metadata, http, algorithms, metrics, log } = this.#options;
    try {
      const { jwksURL } = await metadata.endpoints();
      const { status, body } = await http.request({ method: 'GET', url: jwksURL, maxBytes });
      if (status !== 200) throw new ProviderError('bad-status', `${jwksURL}: responded with ${status}`);
      const set = parseKeySet(body, algorithms);
      this.#accept(set, createHash('sha256').update(body).digest('base64'));
      // The provider has withdrawn every key. It may just be restarting, so the fetch counts as failed and is soon
      // repeated.
      if (set.size === 0) throw new ProviderError('no-keys', 'key set: no key can verify an access token');
      if (this.#failure !== undefined) log.info('the keys of the identity provider can be fetched again');
      this.#failure = undefined;
      this.#failures = 0;
      metrics.keyFetches.inc({ result: 'ok' });
    } catch (error) {
      if (this.#stopped) return;
      this.#failure = error instanceof ProviderError ? error : new ProviderError('bad-answer', String(error));
      this.#failures++;
      metrics.keyFetches.inc({ result: this.#failure.code });
      if (this.#failures === 1) log.warn(errorFields(error), 'the keys of the identity provider cannot be fetched');
    }
  }

  #accept(set: KeySet, digest: string): void {
    const atMs = this.#options.clock.ticksMs();
    if (this.#loaded?.digest === digest) {
      this.#loaded.atMs = atMs;
      return;
    }
    this.#loaded = { set, digest, version: (this.#loaded?.version ?? 0) + 1, atMs };
    this.#options.log.info({ keyIds: [...set.keys()] }, 'the keys of the identity provider are loaded');
  }

  #schedule(): void {
    this.#cancelTimer();
    if (this.#stopped) return;
    const { cacheMs, clock } = this.#options;
    const retryMs = Math.min(firstRetryMs * 2 ** (this.#failures - 1), longestRetryMs);
    this.#cancelTimer = clock.after(this.#failures === 0 ? cacheMs : Math.min(retryMs, cacheMs), () => {
      void this.#refresh();
    });
  }
}
