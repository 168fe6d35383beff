// Tests of reading the engine's index in pages whose size adapts to the size of the rows.

import { describe, expect, it } from 'vitest';
import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import type { Page } from '#lib/conductor/executions/execution-index.ts';
import { PageReader } from '#lib/conductor/executions/page-reader.ts';

/** Returns an index whose rows all have the same size, and the sizes of the requested pages. */
function indexOf(count: number, bytesPerRow: number) {
  const sizes: number[] = [];
  const search = async (_query: unknown, { offset, size }: Page) => {
    sizes.push(size);
    const executions = Array.from({ length: Math.min(size, count - offset) }, () => ({}) as ExecutionSummary);
    return { executions, total: count, bytes: executions.length * bytesPerRow };
  };
  return { sizes, search };
}

async function readAll(pages: PageReader): Promise<number> {
  for (let offset = 0; ;) {
    const { rows, isLast } = await pages.read({}, { offset });
    offset += rows.length;
    if (isLast) return offset;
  }
}

describe('PageReader', () => {
  it('requests up to four times as many rows each time while rows are small', async () => {
    const index = indexOf(1_000, 100);
    expect(await readAll(new PageReader(index))).toBe(1_000);
    expect(index.sizes).toEqual([50, 200, 500, 500]);
  });

  it('requests fewer rows while a page would be larger than 2 MiB', async () => {
    const index = indexOf(60, 1_048_576);
    expect(await readAll(new PageReader(index))).toBe(60);
    expect(index.sizes).toEqual([50, 2, 2, 2, 2, 2, 2]);
  });

  it('requests one row at a time when each row is larger than a page', async () => {
    const index = indexOf(3, 9_000_000);
    expect(await readAll(new PageReader(index, 1))).toBe(3);
    expect(index.sizes).toEqual([1, 1, 1, 1]);
  });
});
