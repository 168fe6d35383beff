// Detects whether an engine has an index of executions.

import { EngineError } from '../engine-error.ts';
import { parseResponse, expectSuccess } from '../read-response.ts';
import type { SendRequest } from '../send-call.ts';

/**
 * A query without an operator. Every index parses queries and rejects this query (400 from SQL databases, 500 from
 * Elasticsearch); an engine without an index (`NoopIndexDAO`) responds to any query with an empty result.
 */
const malformedQuery = 'indexed';

/**
 * Determines whether an engine has an index. This class asks until the engine responds and keeps the result, because an
 * engine gains or loses its index only by a restart with different properties.
 */
export class IndexPresence {
  readonly #call: SendRequest;
  #known: boolean | undefined;
  #asked: Promise<boolean> | undefined;

  /** @param call sends each request to the engine */
  constructor(call: SendRequest) {
    this.#call = call;
  }

  /** Whether the engine has an index; undefined before the engine has responded. */
  get known(): boolean | undefined {
    return this.#known;
  }

  /**
   * Returns whether the engine has an index.
   * @throws EngineError when the engine does not respond, or responds with something other than a search result
   */
  async exists(): Promise<boolean> {
    if (this.#known !== undefined) return this.#known;
    this.#asked ??= this.#ask().finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  async #ask(): Promise<boolean> {
    const response = await this.#call({ method: 'GET', path: `/api/workflow/search?query=${malformedQuery}&size=1` });
    if (response.status === 400 || response.status === 500) return (this.#known = true);
    const { totalHits } = parseResponse<{ totalHits: number }>(expectSuccess(response, 'GET /api/workflow/search'));
    if (typeof totalHits === 'number') return (this.#known = totalHits > 0);
    throw new EngineError('refused', 'the engine responded to a search with something other than a result');
  }
}
