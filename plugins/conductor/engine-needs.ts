// Checks that the engine supports the API calls that the router needs, and that the event handlers of the router are
// registered and active.

import type { Engine } from '#lib/conductor/engine.ts';
import type { EventHandler } from '#lib/conductor/definitions/schema.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';

type Caller = Pick<Engine, 'request'>;
type WantedHandler = Pick<EventHandler, 'name' | 'active'>;

/** The API calls on which every request depends. Conductor releases before 3.32 lack the last of them. */
const neededCalls = [
  ['POST', '/api/workflow'],
  ['GET', '/api/workflow/{workflowId}/status'],
  ['GET', '/api/tasks/poll/batch/{taskType}'],
  ['POST', '/api/tasks'],
  ['POST', '/api/tasks/{workflowId}/{taskRefName}/{status}/sync'],
] as const;

const timeoutMs = 2_000;

/**
 * Checks whether an engine has the API calls and event handlers that the router needs. Successful checks are not
 * repeated.
 */
export class EngineNeeds {
  readonly #engine: Caller;
  readonly #wanted: () => readonly WantedHandler[];
  #hasCalls = false;
  #found: readonly WantedHandler[] | undefined;
  #missingHandlers: readonly string[] = [];

  /** @param wanted event handlers of the active configuration; those with `active: false` are not checked */
  constructor(engine: Caller, wanted: () => readonly WantedHandler[]) {
    this.#engine = engine;
    this.#wanted = wanted;
  }

  /** One line for each event handler that was missing when {@link askForHandlers} was last called. */
  get missingHandlers(): readonly string[] {
    return this.#missingHandlers;
  }

  /** Returns one line for each needed API call that the engine does not support. @throws EngineError */
  async missingCalls(): Promise<readonly string[]> {
    if (this.#hasCalls) return [];
    const lacking = await Promise.all(
      neededCalls.map(async (call) => ((await this.#lacks(call)) ? [call.join(' ')] : [])),
    );
    const missing = lacking.flat();
    this.#hasCalls = missing.length === 0;
    if (this.#hasCalls) return [];
    const version = (await new MetadataApi((call) => this.#engine.request({ timeoutMs, ...call })).readVersion()) ?? '';
    const engine = `the engine at conductor.url (${version === '' ? 'unknown version' : `Conductor ${version}`})`;
    return missing.map((call) => `${engine} does not support ${call}: the router needs Conductor 3.32 or newer`);
  }

  /**
   * Updates {@link missingHandlers} and returns it. If the engine does not list its handlers, none counts as missing.
   */
  async askForHandlers(): Promise<readonly string[]> {
    const wanted = this.#wanted();
    if (wanted === this.#found) return this.#missingHandlers;
    const { status, body } = await this.#engine.request({ method: 'GET', path: '/api/event', timeoutMs });
    const registered = status === 200 ? parseResponse<WantedHandler[]>({ body }) : wanted;
    const reasons = wanted.flatMap(({ name, active }) => (active === false ? [] : whyMissing(name, registered)));
    if (reasons.length === 0 && status === 200) this.#found = wanted;
    return (this.#missingHandlers = reasons);
  }

  /**
   * Returns whether the engine lacks a call. Sends OPTIONS, because Spring lists the methods of a path in `Allow`. If
   * the response is unclear, the call counts as present.
   */
  async #lacks([method, path]: (typeof neededCalls)[number]): Promise<boolean> {
    const filledIn = path.replace('{status}', 'COMPLETED').replaceAll(/\{\w+\}/g, 'none');
    const { status, headers } = await this.#engine.request({ method: 'OPTIONS', path: filledIn, timeoutMs });
    if (status === 404) return true;
    const { allow } = headers;
    return status === 200 && typeof allow === 'string' && !allow.split(/, */).includes(method);
  }
}

function whyMissing(name: string, registered: readonly WantedHandler[]): string[] {
  const found = registered.find((handler) => handler.name === name);
  if (found?.active === true) return [];
  const problem = found === undefined ? 'is not registered' : 'is not active';
  return [`event handler ${name} ${problem}: its events start nothing until \`service-router register\` has been run`];
}
