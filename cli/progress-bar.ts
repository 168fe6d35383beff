// A bar for long work: on a terminal only, on stderr, gone when the work is done.

import type { Output } from './host.ts';

export interface ProgressBar {
  /** Moves it on by so many of the total. */
  advance(done: number): void;
  /** Takes it away. */
  stop(): void;
}

const width = 30;
/** A terminal need not be written to more often, in milliseconds. */
const redrawMs = 50;

/**
 * @param total how many there are to do; more may come
 * @param stream standard error: results go to stdout
 */
export function startProgressBar(label: string, total: number, stream: Output): ProgressBar {
  if (stream.isTTY !== true) return { advance: () => undefined, stop: () => undefined };
  let done = 0;
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    advance(more) {
      done += more;
      if (performance.now() - drawnAt < redrawMs && done < total) return;
      drawnAt = performance.now();
      stream.write(`\r\u001b[2K${formatBar(label, done, total)}`);
    },
    stop: () => void stream.write('\r\u001b[2K'),
  };
}

/** `deleting  ██████░░░░  1200 of 3000`. */
export function formatBar(label: string, done: number, total: number): string {
  const filled = total === 0 ? width : Math.min(width, Math.floor((done / total) * width));
  return `${label}  ${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${done} of ${Math.max(done, total)}`;
}
