// Events that the engine loses: it takes them from their queue while the condition of their handler never holds.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { engineApi } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { EngineOfRun } from './engine-of-run.ts';

export function lostEventsOf({ url, stateDir }: EngineOfRun) {
  const { get, send } = engineApi(url);
  return {
    /**
     * Runs `work` while the condition of a handler never holds: the engine takes its events and does nothing with them. A
     * handler that is not active would not do: once a minute the engine stops listening to queues without active handlers.
     */
    async withoutHandler(name: string, work: () => Promise<void>) {
      const handlers = await get<{ name: string }[]>('/event');
      const handler = handlers.find((each) => each.name === name);
      if (handler === undefined) throw new Error(`the engine has no handler ${name}`);
      await send('PUT', '/event', { ...handler, condition: 'false' });
      try {
        await work();
      } finally {
        await send('PUT', '/event', handler);
      }
    },
    /** The engine has taken the events of this queue and done what it does with them. */
    async untilEventsTaken(queue: string) {
      const size = async () => (await get<Record<string, number>>('/tasks/queue/all'))[queue] ?? 0;
      const isDone = async () => (await size()) === 0 && unfinished(stateDir, queue) === 0;
      // An engine looks once a minute which queues have active handlers, and may listen to this one only then.
      await pollUntil(`the events of ${queue} to be dropped`, isDone, { timeoutMs: 90_000 });
    },
  };
}

export type LostEvents = ReturnType<typeof lostEventsOf>;

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
