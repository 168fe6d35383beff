// Events that the engine loses: it takes them from their queue while the condition of their handler never holds.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { call } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { EngineOfRun } from './engine-of-run.ts';

/** Calls of an engine's API. */
export interface LostEvents {
  /**
   * Runs `work` while the condition of a handler never holds: the engine takes its events and does nothing with them. A
   * handler that is not active would not do: once a minute the engine stops listening to queues without active handlers.
   */
  withoutHandler(name: string, work: () => Promise<void>): Promise<void>;
  /** The engine has taken the events of this queue and done what it does with them. */
  untilEventsTaken(queue: string): Promise<void>;
}

export function lostEventsOf({ url, stateDir }: EngineOfRun): LostEvents {
  const put = async (handler: object) => {
    const headers = { 'content-type': 'application/json' };
    const { status } = await call(`${url}/api/event`, { method: 'PUT', headers, body: JSON.stringify(handler) });
    if (status !== 200) throw new Error(`the handler was not changed: ${status}`);
  };
  return {
    async withoutHandler(name, work) {
      const handlers = (await call(`${url}/api/event`)).json<{ name: string }[]>();
      const handler = handlers.find((each) => each.name === name);
      if (handler === undefined) throw new Error(`the engine has no handler ${name}`);
      await put({ ...handler, condition: 'false' });
      try {
        await work();
      } finally {
        await put(handler);
      }
    },
    async untilEventsTaken(queue) {
      const size = async () => (await call(`${url}/api/tasks/queue/all`)).json<Record<string, number>>()[queue] ?? 0;
      const isDone = async () => (await size()) === 0 && unfinished(stateDir, queue) === 0;
      // An engine looks once a minute which queues have active handlers, and may listen to this one only then.
      await pollUntil(`the events of ${queue} to be dropped`, isDone, { timeoutMs: 90_000 });
    },
  };
}

/** Returns how many events of a queue the engine has not acknowledged: it takes an event first, and looks for handlers then. */
function unfinished(stateDir: string, queue: string): number {
  // Of an engine that was given, nothing but its API is known.
  if (stateDir === '') return 0;
  const database = new DatabaseSync(join(stateDir, 'engine', 'conductor.db'), { readOnly: true, timeout: 5_000 });
  try {
    const row = database.prepare('SELECT count(*) AS events FROM queue_message WHERE queue_name = ?').get(queue);
    return Number(row?.['events']);
  } finally {
    database.close();
  }
}
