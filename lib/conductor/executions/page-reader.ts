// Reads pages of the engine's index. Rows contain whole inputs and outputs, so the page size adapts to the row size.

import type { ExecutionSummary } from './execution.ts';
import type { ExecutionApi } from './execution-api.ts';
import type { ExecutionQuery, Page } from './execution-index.ts';

/** Target size of a page in bytes. */
const pageBytes = 2_097_152;
const firstSize = 50;
const maxSize = 500;

/** One page of rows. */
export interface RowPage {
  readonly rows: readonly ExecutionSummary[];
  /** True when no rows follow. */
  readonly isLast: boolean;
  /** Number of rows on all pages. */
  readonly total: number;
}

/** Reads pages, beginning with a small one. */
export class PageReader {
  readonly #api: Pick<ExecutionApi, 'search'>;
  #size: number;

  /** @param maxFirstSize maximum size of the first page, in rows */
  constructor(api: Pick<ExecutionApi, 'search'>, maxFirstSize = firstSize) {
    this.#api = api;
    this.#size = Math.min(firstSize, maxFirstSize);
  }

  /** Returns the next rows, beginning at `offset`. @throws EngineError */
  async read(query: ExecutionQuery, from: Pick<Page, 'offset' | 'order'>): Promise<RowPage> {
    const size = this.#size;
    const { executions, bytes, total } = await this.#api.search(query, { ...from, size });
    const fitting = Math.floor((size * pageBytes) / Math.max(bytes, 1));
    this.#size = Math.max(1, Math.min(maxSize, size * 4, fitting));
    return { rows: executions, isLast: executions.length < size, total };
  }
}
