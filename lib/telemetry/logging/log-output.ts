// A non-blocking log destination. Lines keep their order; lines that cannot be written are dropped.

import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Capacity of the buffer, in characters; lines beyond it are dropped. */
const maxBuffered = 2 ** 20;
/**
 * Delay before a batch is written, in milliseconds: one call for many lines takes less of the CPU time that requests
 * need.
 */
const batchMs = 10;
/** Longest time that the final flush takes, in milliseconds. */
const flushTimeoutMs = 500;
/** Pause between two attempts of the final flush, in milliseconds. */
const flushPauseMs = 5;
/** Time within which an asynchronous write to a file completes, in milliseconds. */
const pendingWriteMs = 20;

const nothing = Buffer.alloc(0);

/**
 * A destination for pino that writes to standard output. pino's own destination (sonic-boom) retries a final write to a
 * full disk or a closed pipe forever, so the process would never exit.
 */
export class LogOutput {
  readonly #isFile = fstatSync(1).isFile();
  readonly #fd = this.#isFile ? 1 : openNonBlocking();
  #buffer = '';
  /** Bytes that a slow reader has not taken yet; they come before the buffer. */
  #delayed: Buffer = nothing;
  /** True during an asynchronous write to a file. */
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;

  /** Queues a line, or drops it when the buffer is full. */
  write(line: string): void {
    if (this.#buffer.length + line.length > maxBuffered) return;
    this.#buffer += line;
    this.#scheduleWrite();
  }

  /** Writes the buffered lines synchronously, for 500 ms at most. Never throws. */
  flushSync(): void {
    if (this.#isWriting) sleep(pendingWriteMs);
    const deadline = performance.now() + flushTimeoutMs;
    this.#takeBuffer();
    while (!this.#writeDelayed() && performance.now() < deadline) sleep(flushPauseMs);
  }

  /** The timer is unreferenced: it does not keep the process alive, and the exit handler flushes what it delays. */
  #scheduleWrite(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writeBatch();
    }, batchMs).unref();
  }

  #writeBatch(): void {
    if (this.#isFile) return this.#writeToFile();
    // Further lines stay in the buffer, whose capacity is limited.
    if (this.#delayed.length === 0) this.#takeBuffer();
    if (!this.#writeDelayed() || this.#buffer !== '') this.#scheduleWrite();
  }

  #takeBuffer(): void {
    this.#delayed = Buffer.concat([this.#delayed, Buffer.from(this.#buffer)]);
    this.#buffer = '';
  }

  /** Writes as much as the reader takes now. @returns false when bytes are left */
  #writeDelayed(): boolean {
    while (this.#delayed.length > 0) {
      try {
        this.#delayed = this.#delayed.subarray(writeSync(this.#fd, this.#delayed));
      } catch (error) {
        if (isBusy(error)) return false;
        this.#delayed = nothing;
      }
    }
    return true;
  }

  /** Writes asynchronously, because a busy disk delays a write. */
  #writeToFile(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    const bytes = Buffer.from(this.#buffer);
    this.#buffer = '';
    write(this.#fd, bytes, () => {
      this.#isWriting = false;
      if (this.#buffer !== '') this.#scheduleWrite();
    });
  }
}

/**
 * Returns a descriptor of standard output whose writes fail with EAGAIN while nobody reads. A write that blocks would keep
 * the process from exiting.
 */
function openNonBlocking(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    // A separate file description, so that writes of other processes to this pipe or terminal still block.
    return openSync('/proc/self/fd/1', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket cannot be opened, and not every system has /proc. Node makes pipes and sockets non-blocking here.
    return process.stdout.fd;
  }
}

function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
