// Measures the losses of a Redis server: writes a mark every few milliseconds, and reads the newest mark after a kill.

import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from 'redis';
import type { AppendFsync, RedisServer } from '../stack/redis-server.ts';
import { type HistoryEvent, now } from './history.ts';

/** Result of a restart; the history adds `at`. */
export type Restarted = Omit<Extract<HistoryEvent, { event: 'restarted' }>, 'at'>;

export interface WatchedRedis {
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Restarts the server and reports the lost marks. */
  start(): Promise<void>;
  /** Stops writing marks; the server keeps running. */
  stop(): Promise<void>;
}

interface Options {
  readonly name: string;
  readonly appendfsync: AppendFsync;
  readonly report: (restarted: Restarted) => void;
}

/** Pause between two marks, in milliseconds. */
const markMs = 20;
const key = 'faults:mark';

/** Starts writing marks; resolves when the first one is acknowledged. */
export async function watchRedis(server: RedisServer, { name, appendfsync, report }: Options): Promise<WatchedRedis> {
  let marks = await Marks.start(server.url, 0);
  let killedAt: number | undefined;
  return {
    async kill() {
      killedAt = now();
      await server.kill();
      await marks.stop();
    },
    async start() {
      await server.restart();
      if (killedAt === undefined) return;
      const kept = Number((await server.command('GET', key)) ?? 0);
      const { acknowledged } = marks;
      const lost = acknowledged.filter(({ mark }) => mark > kept);
      const from = acknowledged.findLast(({ mark }) => mark <= kept)?.at ?? acknowledged[0]?.at ?? killedAt;
      // A mark can be acknowledged while the signal is sent.
      const to = Math.max(killedAt, acknowledged.at(-1)?.at ?? killedAt);
      killedAt = undefined;
      const counts = { marks: acknowledged.length, lost: lost.length };
      report({ actor: 'observer', event: 'restarted', what: name, appendfsync, ...counts, from, to });
      marks = await Marks.start(server.url, marks.last);
    },
    stop: () => marks.stop(),
  };
}

/** Writes marks over one connection: increasing numbers, each after the previous one was acknowledged. */
class Marks {
  readonly acknowledged: { readonly mark: number; readonly at: number }[] = [];
  readonly #client;
  #last: number;
  #isOver = false;
  #running: Promise<void> | undefined;

  static async start(url: string, last: number): Promise<Marks> {
    const marks = new Marks(url, last);
    await marks.#client.connect();
    await marks.#set();
    marks.#running = marks.#run();
    return marks;
  }

  private constructor(url: string, last: number) {
    this.#last = last;
    this.#client = createClient({ url, disableOfflineQueue: true, socket: { reconnectStrategy: false } });
    this.#client.on('error', () => undefined);
  }

  /** The last mark that was sent. */
  get last(): number {
    return this.#last;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    if (this.#client.isOpen) this.#client.destroy();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isOver && this.#client.isOpen) {
      // Fails while the server's disk is full, and when the server is killed.
      await this.#set().catch(() => undefined);
      await pause(markMs);
    }
  }

  async #set(): Promise<void> {
    const mark = (this.#last += 1);
    await this.#client.set(key, mark);
    this.acknowledged.push({ mark, at: now() });
  }
}
