// Long work in short pieces: whatever else there is to do gets its turn in between.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work goes on for so long before others have their turn, in milliseconds. */
const pieceMs = 2;

/**
 * Begins a piece of work.
 * @returns to be awaited after each step: gives others their turn once the piece is long enough. Not after each: a turn
 *   takes long on a busy machine
 */
export function createPauses(): () => Promise<void> {
  let since = performance.now();
  return async function pause() {
    if (performance.now() - since < pieceMs) return;
    await nextTurn();
    since = performance.now();
  };
}
