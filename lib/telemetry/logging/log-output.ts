// Where log lines go: written in the background and in order. What cannot be written is lost; the program goes on.

import { write, writeSync } from 'node:fs';

/** Characters that may wait while nothing can be written; lines beyond them are dropped. */
const mostWaiting = 2 ** 20;
/** Lines of so many milliseconds are written together: a write costs as much as several lines. */
const gatherMs = 10;
/** A reader that is not quick enough gets this long before the next try, in milliseconds. */
const againMs = 50;
/** What is left when the program ends is tried for this long, in milliseconds. */
const lastTryMs = 500;
/** A write that is under way has left by then, in milliseconds. */
const underWayMs = 20;

/**
 * A destination for pino. Its own repeats a write that fails with a full disk or a closed pipe for ever when the program
 * ends, so that it never does.
 */
export class LogOutput {
  readonly #fd: number;
  #waiting = '';
  #isWriting = false;
  #gathering: NodeJS.Timeout | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > mostWaiting) return;
    this.#waiting += line;
    if (!this.#isWriting) this.#gather();
  }

  /** Writes what waits before it returns, if that can be done. */
  flushSync(): void {
    if (this.#isWriting) sleep(underWayMs);
    let rest = Buffer.from(this.#waiting);
    this.#waiting = '';
    const deadline = performance.now() + lastTryMs;
    while (rest.length > 0 && performance.now() < deadline) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isBusy(error)) return;
        sleep(againMs);
      }
    }
  }

  /** Nobody waits for a line: the timer keeps no program from its end, which writes what is left. */
  #gather(): void {
    if (this.#gathering !== undefined) return;
    this.#gathering = setTimeout(() => this.#writeOn(), gatherMs).unref();
  }

  #writeOn(): void {
    this.#gathering = undefined;
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#isWriting = true;
    this.#put(bytes);
  }

  #put(bytes: Buffer): void {
    write(this.#fd, bytes, (error, written) => {
      if (isBusy(error)) return void setTimeout(() => this.#put(bytes), againMs);
      if (error === null && written < bytes.length) return this.#put(bytes.subarray(written));
      this.#isWriting = false;
      if (this.#waiting !== '') this.#gather();
    });
  }
}

function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
