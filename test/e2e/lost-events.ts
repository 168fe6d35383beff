// Makes the engine lose events: with `false` as the condition of their handler, the engine takes events from their
// queue and starts nothing.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { engineApi } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { EngineOfRun } from './engine-of-run.ts';

export function lostEventsOf({ url, stateDir }: EngineOfRun) {
  const { get, send } = engineApi(url);
  return {
    /**
     * Runs `work` with `false` as the condition of a handler, so that the engine takes events without starting
     * anything. Deactivating the handler would not work: once a minute, the engine stops listening to queues without
     * active handlers.
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
    /** Waits until the engine has taken and handled all events of a queue. */
    async untilEventsTaken(queue: string) {
      const size = async () => (await get<Record<string, number>>('/tasks/queue/all'))[queue] ?? 0;
      const isDone = async () => (await size()) === 0 && unfinished(stateDir, queue) === 0;
      // An engine checks once a minute which queues have active handlers, and may start to listen to this queue only
      // then.
      await pollUntil(`the events of ${queue} to be dropped`, isDone, { timeoutMs: 90_000 });
    },
  };
}

export type LostEvents = ReturnType<typeof lostEventsOf>;

/**
 * Returns the number of events of a queue that the engine has not acknowledged. The engine takes an event before it
 * looks for handlers, so an empty queue does not mean that all events have been handled.
 */
function unfinished(stateDir: string, queue: string): number {
  // The database of an engine that CONDUCTOR_URL names is unknown.
  if (stateDir === '') return 0;
  const database = new DatabaseSync(join(stateDir, 'engine', 'conductor.db'), { readOnly: true, timeout: 5_000 });
  try {
    const row = database.prepare('SELECT count(*) AS events FROM queue_message WHERE queue_name = ?').get(queue);
    return Number(row?.['events']);
  } finally {
    database.close();
  }
}
