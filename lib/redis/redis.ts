// The one connection of a process to Redis. Every command has a deadline, and a Redis that hangs is an outage like any other.

import { setTimeout as pause } from 'node:timers/promises';
import { createClient, ErrorReply } from 'redis';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

export type RedisClient = ReturnType<typeof createClient>;
/** One command: `client` must not be kept. */
export type RedisCommand<T> = (client: RedisClient) => Promise<T>;

/** Redis does not answer, refuses to do what it is asked, or has too many commands to answer. */
export class RedisUnavailable extends Error {
  /** False when the command was not sent. */
  readonly mayHaveRun: boolean;

  constructor(message: string, { mayHaveRun, cause }: { mayHaveRun: boolean; cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'RedisUnavailable';
    this.mayHaveRun = mayHaveRun;
  }
}

/** Resolution of all deadlines, in milliseconds: one timer serves every command. */
const tickMs = 50;
/** A command is late once it has waited for this many whole ticks: 250 to 300 ms. */
const commandTicks = 5;
/** Ticks from one attempt to connect to the next, and longest duration of an attempt: 1 s. */
const attemptTicks = 20;
/** Ticks without a command after which Redis is asked whether it answers: 1 s. */
const idleTicks = 20;
/** Most commands without a reply; more are rejected at once. */
const maxPending = 10_000;
/** Most commands that are kept for the end of an outage. */
const maxPostponed = 1_000;

/** Refused by a Redis that is loading, read-only, out of memory or busy with a script. */
const probe = `return redis.call('set', KEYS[1], '', 'PX', 1000)`;
const probeKey = 'service-router:probe';

/**
 * While Redis answers, commands are sent at once. The first missing reply, lost connection or error reply begins an
 * outage: the connection is closed, every pending command is rejected, and further ones are rejected without being sent.
 * About once a second a new connection is tried; the outage ends when Redis has executed a script that writes.
 *
 * node-redis 6 has no deadline for a command that was sent: `commandOptions.timeout` ends when the command is written
 * (and costs one AbortSignal a command), and each write puts `socketTimeout` off. A client that is destroyed while it
 * connects can be connected afterwards: each attempt has a client of its own.
 */
export class Redis {
  /** Resolves when the first attempt to connect has succeeded or failed, or at `stop`. */
  readonly firstAttempt: Promise<void>;
  readonly #url: string;
  readonly #log: Logger;
  readonly #endFirstAttempt: () => void;
  /** Connected, and no command is late. */
  #client: RedisClient | undefined;
  /** Connecting. */
  #candidate: RedisClient | undefined;
  readonly #listeners = new Map<string, (message: string) => void>();
  #postponed: RedisCommand<unknown>[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Ticks so far. A process that stood still has not counted them, so it does not take Redis for hung. */
  #now = 0;
  #attemptedAt = 0;
  #isOutage = false;
  #isStopping = false;
  #sent = 0;
  #settled = 0;
  /** `#sent` at each of the latest ticks. Replies come in order: they tell how many must be settled by now. */
  #sentAt: number[] = [];
  #sentAtLastCheck = 0;

  /** @param url `redis://…` or `rediss://…` */
  constructor(url: string, log: Logger) {
    this.#url = url;
    this.#log = log;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.firstAttempt = promise;
    this.#endFirstAttempt = resolve;
  }

  /** False while commands are rejected without being sent. */
  get isAnswering(): boolean {
    return this.#client !== undefined;
  }

  /** Connects in the background. @throws TypeError or URIError for a malformed URL */
  start(): void {
    this.#connect();
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** Closes the connection once pending commands are settled, at the latest after their deadline. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    while (this.#client !== undefined && this.#settled < this.#sent) await pause(tickMs);
    clearInterval(this.#timer);
    const clients = [this.#client, this.#candidate];
    this.#client = this.#candidate = undefined;
    for (const client of clients) client?.destroy();
    this.#endFirstAttempt();
  }

  /**
   * Runs one command.
   * @throws RedisUnavailable during an outage at once, else after 250 to 300 ms; and for an error reply
   */
  async run<T>(command: RedisCommand<T>): Promise<T> {
    const client = this.#client;
    if (client === undefined) throw new RedisUnavailable('Redis is not answering', { mayHaveRun: false });
    if (this.#sent - this.#settled >= maxPending)
      throw new RedisUnavailable(`${maxPending} commands wait for Redis`, { mayHaveRun: false });
    this.#sent += 1;
    try {
      return await command(client);
    } catch (cause) {
      if (cause instanceof ErrorReply) this.#fail(client, cause);
      // An error that did not end the connection is a mistake in the command.
      if (client === this.#client) throw cause;
      throw new RedisUnavailable('Redis has not answered', { mayHaveRun: true, cause });
    } finally {
      this.#settled += 1;
    }
  }

  /**
   * Runs a command whose reply nobody needs, such as giving a lock back: now, or when the outage ends. Of more than
   * 1,000 the latest are kept: what they free must expire by itself as well.
   * @returns resolves when it has run or is postponed; never rejects
   */
  async runEventually(command: RedisCommand<unknown>): Promise<void> {
    try {
      await this.run(command);
    } catch (error) {
      // What Redis refused to do it would refuse again.
      if (!(error instanceof RedisUnavailable) || error.cause instanceof ErrorReply) return;
      this.#postponed.push(command);
      if (this.#postponed.length > maxPostponed) this.#postponed.shift();
    }
  }

  /**
   * Calls `listener` with each message of a channel. Messages of an outage are lost.
   * @returns ends it
   */
  subscribe(channel: string, listener: (message: string) => void): () => void {
    const attempt = (command: RedisCommand<void>) => void this.run(command).catch(() => undefined);
    this.#listeners.set(channel, listener);
    attempt((client) => client.subscribe(channel, listener));
    return () => {
      this.#listeners.delete(channel);
      attempt((client) => client.unsubscribe(channel, listener));
    };
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
    if (this.#now % idleTicks !== 0) return;
    if (this.#sent === this.#sentAtLastCheck) void this.run((idle) => idle.ping()).catch(() => undefined);
    this.#sentAtLastCheck = this.#sent;
  }

  #connect(): void {
    const client = createClient({
      url: this.#url,
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 },
      socket: { reconnectStrategy: false, connectTimeout: attemptTicks * tickMs },
    }) as RedisClient;
    client.on('error', (error: unknown) => this.#fail(client, error));
    this.#candidate = client;
    this.#attemptedAt = this.#now;
    void this.#open(client);
  }

  async #open(client: RedisClient): Promise<void> {
    try {
      await client.connect();
      await client.eval(probe, { keys: [probeKey] });
      for (const [channel, listener] of this.#listeners) await client.subscribe(channel, listener);
    } catch (error) {
      this.#fail(client, error);
    }
    // Given up meanwhile, and connected all the same.
    if (client !== this.#candidate) return client.destroy();
    this.#candidate = undefined;
    this.#client = client;
    this.#sentAt = [];
    if (this.#isOutage) this.#log.info('Redis is answering again');
    this.#isOutage = false;
    this.#endFirstAttempt();
    for (const command of this.#postponed.splice(0)) void this.runEventually(command);
  }

  #fail(client: RedisClient, error: unknown): void {
    if (client !== this.#client && client !== this.#candidate) return;
    if (client === this.#client) this.#attemptedAt = this.#now;
    this.#client = this.#candidate = undefined;
    client.destroy();
    if (!this.#isOutage) this.#log.warn(errorFields(error), 'Redis is not answering; it is asked again every second');
    this.#isOutage = true;
    this.#endFirstAttempt();
  }
}
