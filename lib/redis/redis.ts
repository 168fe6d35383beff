// The Redis connection of a process. Every command has a deadline, and a hung Redis is treated as an outage.
//
// This file loads node-redis (650 modules), so import it only where Redis is configured.

import { setTimeout as pause } from 'node:timers/promises';
import { createClient, ErrorReply } from 'redis';
import { Attachment } from '#lib/gc/attachment.ts';
import { lookup } from '#lib/http/lookup.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { type EventualCommand, PostponedCommands } from './postponed-commands.ts';
import type { RedisClient, RedisCommand } from './redis-command.ts';
import { RedisUnavailable } from './redis-unavailable.ts';

/** Options of {@link Redis}. */
export interface RedisOptions {
  /**
   * True for a program that reads and deletes, such as the prune job. Redis permits both while its memory is full, so
   * an OOM error affects only the command that received it. Default: false, for a router. Everything for which a router
   * uses Redis begins with a write, so a router treats a full Redis as an outage: readiness shows a notice,
   * `router_redis_up` is 0, and records are postponed.
   */
  readonly worksWhenFull?: boolean;
}

/** Resolution of all deadlines, in milliseconds: one timer serves every command. */
const tickMs = 50;
/** A command without a reply after this many whole ticks (250 to 300 ms) has exceeded its deadline. */
const commandTicks = 5;
/** Interval between connection attempts and maximum duration of an attempt, in ticks: 1 s. */
const attemptTicks = 20;
/** Interval between PINGs on an idle connection, in ticks: 1 s. */
const idleTicks = 20;
/** Maximum number of pending commands; further commands are rejected at once. */
const maxPending = 10_000;
/**
 * Maximum number of postponed commands sent in one tick: few enough for Redis to execute them before their deadline.
 */
const maxPostponedPerTick = 500;

/**
 * Error replies that concern one command, whatever the state of Redis: the user is not permitted to run the command, or
 * the value has a different type. In a script, a missing permission is reported as `ERR` with a text that differs
 * between Redis 7.0 and 7.2.
 */
const refusesOnlyThis =
  /^(?:NOPERM|WRONGTYPE)\b|^ERR (?:ACL failure in script|The user executing the script can't run)/;
/** Error reply to a command that needs memory while `maxmemory` is reached. */
const isFull = /^OOM\b/;
/** Error replies due to the current state of Redis, which may accept the command later. */
const refusesForNow = /^(?:OOM|READONLY|LOADING|BUSY|MISCONF|MASTERDOWN|NOREPLICAS)\b/;

/** A write that fails on a Redis that is loading, read-only, out of memory or busy with a script. */
const probe = `return redis.call('set', KEYS[1], '', 'PX', 1000)`;
const probeKey = 'service-router:probe';

/**
 * A Redis connection with outage detection. While Redis responds, commands are sent at once. The first missing reply,
 * lost connection or error reply starts an outage: the connection is closed, every pending command is rejected, and
 * further commands are rejected without being sent. About once a second a new connection is attempted. The outage ends
 * when Redis has executed a script that writes, or has replied that the user is not permitted to run it. An error reply
 * that concerns only its command ({@link refusesOnlyThis}) does not start an outage, because a new connection would not
 * help.
 *
 * node-redis 6 has no deadline for a command that was sent: `commandOptions.timeout` covers the time until the command
 * is written (and costs one AbortSignal per command), and each write resets `socketTimeout`. A client that is destroyed
 * while it connects can become connected afterwards, so each attempt has its own client.
 */
export class Redis {
  /** Resolves when the first attempt to connect has succeeded or failed, or at `stop`. */
  readonly firstAttempt: Promise<void>;
  readonly #url: string;
  readonly #log: Logger;
  readonly #worksWhenFull: boolean;
  readonly #endFirstAttempt: () => void;
  /** The connected client; undefined during an outage. */
  #client: RedisClient | undefined;
  /** The client of the connection attempt in progress. */
  #candidate: RedisClient | undefined;
  readonly #listeners = new Map<string, (message: string) => void>();
  readonly #subscribed = new Attachment<RedisClient, Set<string>>('channels whose subscription Redis has accepted');
  readonly #postponed = new PostponedCommands();
  /** Number of calls to `runEventually`. */
  #eventuals = 0;
  #timer: NodeJS.Timeout | undefined;
  /**
   * Number of ticks so far. A suspended process does not count ticks, so it does not mistake its own pause for a hung
   * Redis.
   */
  #now = 0;
  #attemptedAt = 0;
  #isOutage = false;
  #isStopping = false;
  #sent = 0;
  #settled = 0;
  /**
   * Values of `#sent` at the latest ticks. The oldest value counts the commands whose deadline has passed. Replies
   * arrive in order, so at least this number of commands must be settled by now.
   */
  #sentAt: number[] = [];
  #sentAtLastCheck = 0;
  /** Error replies that have already been logged. */
  readonly #refusals = new Set<string>();

  /** @param url `redis://…` or `rediss://…` */
  constructor(url: string, log: Logger, { worksWhenFull = false }: RedisOptions = {}) {
    this.#url = url;
    this.#log = log;
    this.#worksWhenFull = worksWhenFull;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.firstAttempt = promise;
    this.#endFirstAttempt = resolve;
  }

  /** False while commands are rejected without being sent. */
  get isResponding(): boolean {
    return this.#client !== undefined;
  }

  /** Connects in the background. @throws TypeError or URIError for a malformed URL */
  start(): void {
    this.#connect();
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  /**
   * Closes the connection once all pending and postponed commands are settled. When Redis does not respond, the
   * connection is closed at once and the postponed commands are dropped.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    while (this.#client !== undefined && this.#settled < this.#sent + this.#postponed.length) await pause(tickMs);
    clearInterval(this.#timer);
    const clients = [this.#client, this.#candidate];
    this.#client = this.#candidate = undefined;
    for (const client of clients) client?.destroy();
    for (const eventual of this.#postponed.take()) drop(eventual);
    this.#endFirstAttempt();
  }

  /**
   * Runs one command.
   * @throws RedisUnavailable at once during an outage, after 250 to 300 ms without a reply, and for an error reply
   */
  async run<T>(command: RedisCommand<T>): Promise<T> {
    const client = this.#client;
    if (client === undefined) throw new RedisUnavailable('Redis does not respond', { mayHaveRun: false });
    if (this.#sent - this.#settled >= maxPending)
      throw new RedisUnavailable(`too many commands (${maxPending}) are waiting for Redis`, { mayHaveRun: false });
    this.#sent += 1;
    try {
      return await command(client);
    } catch (cause) {
      if (this.#isRefused(cause)) throw this.#refused(cause);
      if (cause instanceof ErrorReply) this.#fail(client, cause);
      // An error that did not close the connection is a programming error in the command.
      if (client === this.#client) throw cause;
      throw new RedisUnavailable('Redis has not responded', { mayHaveRun: true, cause });
    } finally {
      this.#settled += 1;
    }
  }

  /**
   * Runs a command whose reply is not needed. During an outage, or when too many commands are pending, the command is
   * postponed. At most 10,000 commands are postponed. Beyond that, the first command without `onDropped` is dropped or,
   * if there is none, the first command.
   * @param onDropped called if the command will never run, because it was dropped or Redis refuses it. Omit it if the
   *   command may be lost. The release of a lock, for example, may be lost, because the lock expires
   * @returns a promise that resolves when the command has run, is dropped, or is postponed during an outage; never
   *   rejects
   */
  async runEventually(command: RedisCommand<unknown>, onDropped?: () => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const eventual = { order: this.#eventuals++, command, onDropped, resolve };
    // Commands run in order, so that the end of an execution is recorded after its start.
    if (this.#postponed.length > 0) this.#postpone(eventual);
    else void this.#runOrPostpone(eventual);
    await promise;
  }

  async #runOrPostpone(eventual: EventualCommand): Promise<void> {
    try {
      await this.run(eventual.command);
    } catch (error) {
      if (error instanceof RedisUnavailable && !this.#isRejectedAgain(error.cause)) return this.#postpone(eventual);
      return drop(eventual);
    }
    eventual.resolve();
  }

  #postpone(eventual: EventualCommand): void {
    const dropped = this.#postponed.add(eventual);
    if (dropped !== undefined) drop(dropped);
    if (this.#client === undefined) eventual.resolve();
  }

  /** Sends the first postponed commands. */
  #sendPostponed(): void {
    const free = maxPending - (this.#sent - this.#settled);
    for (const eventual of this.#postponed.take(Math.min(free, maxPostponedPerTick)))
      void this.#runOrPostpone(eventual);
  }

  /**
   * Calls `listener` with each message of a channel. Messages published during an outage are lost.
   * @returns a function that unsubscribes
   */
  subscribe(channel: string, listener: (message: string) => void): () => void {
    const attempt = (command: RedisCommand<void>) => void this.run(command).catch(() => undefined);
    this.#listeners.set(channel, listener);
    attempt((client) => this.#subscribeOn(client, channel, listener));
    return () => {
      this.#listeners.delete(channel);
      attempt((client) => {
        this.#subscribed.get(client)?.delete(channel);
        return client.unsubscribe(channel, listener);
      });
    };
  }

  /** True while messages of the channel arrive: Redis responds and has accepted the subscription. */
  isSubscribed(channel: string): boolean {
    return this.#client !== undefined && this.#subscribed.get(this.#client)?.has(channel) === true;
  }

  async #subscribeOn(client: RedisClient, channel: string, listener: (message: string) => void): Promise<void> {
    await client.subscribe(channel, listener);
    this.#subscribed.set(client, (this.#subscribed.get(client) ?? new Set()).add(channel));
  }

  #refused(cause: ErrorReply): RedisUnavailable {
    if (!this.#refusals.has(cause.message))
      this.#log.warn(errorFields(cause), 'Redis refuses a command; its connection stays in use');
    this.#refusals.add(cause.message);
    // A script may have executed other commands before the refused one.
    return new RedisUnavailable('Redis has refused the command', { mayHaveRun: true, cause });
  }

  #tick(): void {
    this.#now += 1;
    if (this.#client !== undefined) return this.#check(this.#client);
    if (this.#isStopping || this.#now - this.#attemptedAt < attemptTicks) return;
    const late = this.#candidate;
    if (late !== undefined) this.#fail(late, new Error(`no connection within ${attemptTicks * tickMs} ms`));
    this.#connect();
  }

  #check(client: RedisClient): void {
    this.#sentAt.push(this.#sent);
    const due = this.#sentAt.length > commandTicks ? (this.#sentAt.shift() ?? 0) : 0;
    if (this.#settled < due) return this.#fail(client, new Error(`no reply within ${commandTicks * tickMs} ms`));
    this.#sendPostponed();
    if (this.#now % idleTicks !== 0) return;
    if (this.#sent === this.#sentAtLastCheck) void this.run((idle) => idle.ping()).catch(() => undefined);
    this.#sentAtLastCheck = this.#sent;
  }

  #connect(): void {
    const client = createClient({
      url: this.#url,
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 },
      socket: { reconnectStrategy: false, connectTimeout: attemptTicks * tickMs, lookup },
    }) as RedisClient;
    client.on('error', (error: unknown) => this.#fail(client, error));
    this.#candidate = client;
    this.#attemptedAt = this.#now;
    void this.#open(client);
  }

  async #open(client: RedisClient): Promise<void> {
    try {
      await client.connect();
      await this.#unlessRefused(client.eval(probe, { keys: [probeKey] }));
      for (const [channel, listener] of this.#listeners)
        await this.#unlessRefused(this.#subscribeOn(client, channel, listener));
    } catch (error) {
      this.#fail(client, error);
    }
    // The attempt has failed, or was given up before its client connected.
    if (client !== this.#candidate) return client.destroy();
    this.#candidate = undefined;
    this.#client = client;
    this.#sentAt = [];
    if (this.#isOutage) this.#log.info('Redis responds again');
    this.#isOutage = false;
    this.#endFirstAttempt();
    this.#sendPostponed();
  }

  /**
   * Waits for a reply during a connection attempt. An error reply that concerns only this command is logged and does
   * not end the attempt.
   */
  async #unlessRefused(reply: Promise<unknown>): Promise<void> {
    try {
      await reply;
    } catch (error) {
      if (!this.#isRefused(error)) throw error;
      this.#refused(error);
    }
  }

  #fail(client: RedisClient, error: unknown): void {
    if (client !== this.#client && client !== this.#candidate) return;
    if (client === this.#client) this.#attemptedAt = this.#now;
    this.#client = this.#candidate = undefined;
    client.destroy();
    if (!this.#isOutage) this.#log.warn(errorFields(error), 'Redis does not respond; reconnecting every second');
    this.#isOutage = true;
    this.#endFirstAttempt();
    this.#postponed.resolveAll();
  }

  /** Returns true for an error reply that does not start an outage. */
  #isRefused(error: unknown): error is ErrorReply {
    if (!(error instanceof ErrorReply)) return false;
    return refusesOnlyThis.test(error.message) || (this.#worksWhenFull && isFull.test(error.message));
  }

  /** Returns true for an error reply after which the command is not postponed. */
  #isRejectedAgain(cause: unknown): boolean {
    return cause instanceof ErrorReply && (!refusesForNow.test(cause.message) || this.#isRefused(cause));
  }
}

function drop({ onDropped, resolve }: EventualCommand): void {
  onDropped?.();
  resolve();
}
