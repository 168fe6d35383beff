// A non-blocking log destination. Lines keep their order; lines that cannot be written are dropped.

import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Capacity of the buffer, in characters; lines beyond it are dropped. */
const maxBuffered = 2 ** 20;
/**
 * Delay before a batch is written, in milliseconds. Writing many lines in one call saves CPU time that requests need.
 */
const batchMs = 10;
/** Maximum duration of the final flush, in milliseconds. */
const flushTimeoutMs = 500;
/** Pause between two attempts of the final flush, in milliseconds. */
const flushPauseMs = 5;
/** Time that the final flush allows for a pending asynchronous write to a file, in milliseconds. */
const pendingWriteMs = 20;

const nothing = Buffer.alloc(0);

/**
 * A pino destination that writes to standard output. pino's own destination (sonic-boom) retries a final write to a
 * full disk or a closed pipe forever, so the process would never exit.
 */
export class LogOutput {
  readonly #isFile = fstatSync(1).isFile();
  readonly #fd = this.#isFile ? 1 : openNonBlocking();
  #buffer = '';
  /** Bytes that a slow reader has not accepted yet; they are written before the buffer. */
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

  /**
   * Schedules a write. The timer is unreferenced, so it does not keep the process alive; the exit handler flushes the
   * lines that are still buffered.
   */
  #scheduleWrite(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writeBatch();
    }, batchMs).unref();
  }

  #writeBatch(): void {
    if (this.#isFile) return this.#writeToFile();
    // While earlier bytes are delayed, new lines stay in the buffer, whose capacity is limited.
    if (this.#delayed.length === 0) this.#takeBuffer();
    if (!this.#writeDelayed() || this.#buffer !== '') this.#scheduleWrite();
  }

  #takeBuffer(): void {
    this.#delayed = Buffer.concat([this.#delayed, Buffer.from(this.#buffer)]);
    this.#buffer = '';
  }

  /** Writes as many bytes as the reader accepts now. @returns false when bytes are left */
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

  /** Writes asynchronously, because a write to a busy disk would block the process. */
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
 * Returns a file descriptor of standard output on which writes fail with EAGAIN while nobody reads. A blocking write
 * would keep the process from exiting.
 */
function openNonBlocking(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    // Opens a separate file description, so that writes of other processes to this pipe or terminal still block.
    return openSync('/proc/self/fd/1', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket cannot be opened, and not every system has /proc. Accessing `process.stdout` makes a pipe or socket
    // non-blocking.
    return process.stdout.fd;
  }
}

function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
