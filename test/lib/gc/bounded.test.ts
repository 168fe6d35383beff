// Tests of the bounded collections, which evict their oldest entry.

import { describe, expect, it } from 'vitest';
import { BoundedMap, BoundedSet } from '#lib/gc/bounded.ts';

describe('BoundedMap', () => {
  it('evicts the entry that was inserted first', () => {
    const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('c', 3);
    expect([...map]).toEqual([
      ['b', 2],
      ['c', 3],
    ]);
  });

  it('keeps the position of a key that is set again, and evicts nothing for it', () => {
    const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3);
    expect([...map.keys()]).toEqual(['a', 'b']);
    expect([...map.set('c', 4).keys()]).toEqual(['b', 'c']);
  });

  it('puts a deleted key at the end when it is set again, and distinguishes falsy keys', () => {
    const map = new BoundedMap<unknown, number>(2).set(undefined, 1).set(0, 2);
    map.delete(undefined);
    expect([...map.set(undefined, 3).set('', 4).keys()]).toEqual([undefined, '']);
  });
});

describe('BoundedSet', () => {
  it('evicts the value that was added first; a value that is added again keeps its position', () => {
    const set = new BoundedSet<string>(2).add('a').add('b').add('a').add('c');
    expect([...set]).toEqual(['b', 'c']);
  });
});
