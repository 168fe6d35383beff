// A wall clock that can be set while the processes that use it are running. They preload a library (clock.c).

import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Compiles clock.c and returns the clock. @throws Error when there is no C compiler */
export function startClock() {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-clock-'));
  const library = join(dir, 'clock.so');
  const source = fileURLToPath(new URL('clock.c', import.meta.url));
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
  const file = join(dir, 'offset');
  const descriptor = openSync(file, 'w+');
  const set = (seconds: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    writeSync(descriptor, bytes, 0, bytes.length, 0);
  };
  set(0);
  return {
    /** Environment variables of the processes that use the clock. */
    environment: { LD_PRELOAD: library, CLOCK_OFFSET_FILE: file },
    /** Sets the clock this many seconds ahead of the machine's clock; a negative number sets it behind. */
    set,
    stop() {
      closeSync(descriptor);
      rmSync(dir, { recursive: true });
    },
  };
}

export type Clock = ReturnType<typeof startClock>;
