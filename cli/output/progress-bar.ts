// A progress bar on stderr, shown on terminals only.

import type { Output } from '../host.ts';

/** A progress bar that is on the screen. */
export interface ProgressBar {
  /** Adds `done` items to the progress. */
  advance(done: number): void;
  /** Removes the bar from the screen. */
  stop(): void;
}

/** Width of the bar in characters. */
const width = 30;
/** Shortest time between two redraws, in milliseconds. */
const redrawMs = 50;

/**
 * Shows a progress bar. Does nothing when the stream is not a terminal.
 * @param total expected number of items; the actual number may be larger
 * @param stream standard error, since results go to stdout
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

/** Returns the bar as text: `deleting  ████████████░░░░░░░░░░░░░░░░░░  1200 of 3000`. */
export function formatBar(label: string, done: number, total: number): string {
  const filled = total === 0 ? width : Math.min(width, Math.floor((done / total) * width));
  return `${label}  ${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${done} of ${Math.max(done, total)}`;
}
