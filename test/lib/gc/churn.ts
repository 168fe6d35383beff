// Creates 12,500 objects of 8 kB, of which it keeps only the latest 16, and prints the bytes that minor collections
// moved to the old generation.

import { getHeapSpaceStatistics } from 'node:v8';
import { Attachment } from '#lib/gc/attachment.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';

interface Load {
  readonly words: number[];
}

const collect = (globalThis as unknown as { gc(options: { type: 'minor' }): void }).gc;
const kind = process.argv[2];
const map = kind === 'native' ? new Map<number, Load>() : new TransientMap<number, Load>();
const attachment = new Attachment<object, Load>('load');
const carriers: object[] = [];

function oldBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => name === 'old_space');
  return spaces.reduce((sum, { space_used_size: size }) => sum + size, 0);
}

function step(index: number): void {
  const load = { words: Array.from({ length: 1_000 }, () => index) };
  if (kind === 'attachment') {
    const carrier = {};
    attachment.set(carrier, load);
    carriers.push(carrier);
    if (carriers.length > 16) carriers.shift();
    return;
  }
  map.set(index, load);
  map.delete(index - 16);
}

function run(from: number, to: number): void {
  for (let index = from; index < to; index++) {
    step(index);
    if (index % 500 === 0) collect({ type: 'minor' });
  }
}

// Moves the initial tables to the old generation, as in a process that has been running for a while.
for (let index = 0; index < 3; index++) collect({ type: 'minor' });
run(0, 1_000);
const before = oldBytes();
run(1_000, 13_500);
console.log(oldBytes() - before);
