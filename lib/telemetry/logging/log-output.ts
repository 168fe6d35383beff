// A non-blocking log destination. Lines keep their order; lines that cannot be written are dropped.

import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Capacity of the buffer, in characters; lines beyond it are dropped. */
const maxBuffered = 2 ** 20;
/**
 * Lines are collected for this many milliseconds and written together: one write takes as much processor time as
 * creating several lines.
 */
const batchMs = 10;
/** Delay before a write is retried after EAGAIN (a slow reader), in milliseconds. */
const retryMs = 10;
/** Longest time that the final flush takes, in milliseconds. */
const flushTimeoutMs = 500;
/** Time within which an asynchronous write in progress completes, in milliseconds. */
const pendingWriteMs = 20;

/**
 * A destination for pino that writes to standard output. pino's own destination (sonic-boom) retries a final write to a
 * full disk or a closed pipe forever, so the process would never exit.
 */
export class LogOutput {
  readonly #fd = openNonBlocking();
  #buffer = '';
  /** The bytes that wait for a retry. */
  #delayed: Buffer = Buffer.alloc(0);
  #isWriting = false;
  #batchTimer: NodeJS.Timeout | undefined;

  /** Queues a line, or drops it when the buffer is full. */
  write(line: string): void {
    if (this.#buffer.length + line.length > maxBuffered) return;
    this.#buffer += line;
    if (!this.#isWriting) this.#scheduleWrite();
  }

  /** Writes the buffered lines synchronously, for 500 ms at most. Never throws. */
  flushSync(): void {
    if (this.#isWriting) sleep(pendingWriteMs);
    let rest = Buffer.concat([this.#delayed, Buffer.from(this.#buffer)]);
    this.#buffer = '';
    const deadline = performance.now() + flushTimeoutMs;
    while (rest.length > 0 && performance.now() < deadline) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isBusy(error)) return;
        sleep(retryMs);
      }
    }
  }

  /** The timers are unreferenced: they do not keep the process alive, and the exit handler flushes what they delay. */
  #scheduleWrite(): void {
    if (this.#batchTimer !== undefined) return;
    this.#batchTimer = setTimeout(() => this.#writeBuffer(), batchMs).unref();
  }

  #writeBuffer(): void {
    this.#batchTimer = undefined;
    const bytes = Buffer.from(this.#buffer);
    this.#buffer = '';
    this.#isWriting = true;
    this.#writeBytes(bytes);
  }

  #writeBytes(bytes: Buffer): void {
    this.#delayed = Buffer.alloc(0);
    write(this.#fd, bytes, (error, written) => {
      if (isBusy(error)) return this.#retry(bytes);
      if (error === null && written < bytes.length) return this.#writeBytes(bytes.subarray(written));
      this.#isWriting = false;
      if (this.#buffer !== '') this.#scheduleWrite();
    });
  }

  #retry(bytes: Buffer): void {
    this.#delayed = bytes;
    setTimeout(() => this.#writeBytes(bytes), retryMs).unref();
  }
}

/**
 * Returns a descriptor of standard output whose writes fail with EAGAIN while nobody reads, unless it is a file. A write
 * that blocks would keep the process from exiting, because Node waits for its threads.
 */
function openNonBlocking(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  // A file that is opened again would be written from its beginning.
  if (fstatSync(1).isFile()) return 1;
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
