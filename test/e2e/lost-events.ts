// Events that the engine loses: it takes them from their queue while their handler is switched off.

import { call } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';

/** Calls of an engine's API. */
export interface LostEvents {
  /** Runs `work` while a handler is switched off: the engine takes its events and does nothing with them. */
  withoutHandler(name: string, work: () => Promise<void>): Promise<void>;
  /** The engine has taken the events of this queue, or does not listen yet: then it has them still, and they come twice. */
  untilEventsTaken(queue: string): Promise<void>;
}

export function lostEventsOf(engineUrl: string): LostEvents {
  const put = async (handler: object) => {
    const headers = { 'content-type': 'application/json' };
    const { status } = await call(`${engineUrl}/api/event`, { method: 'PUT', headers, body: JSON.stringify(handler) });
    if (status !== 200) throw new Error(`the handler was not changed: ${status}`);
  };
  return {
    async withoutHandler(name, work) {
      const handlers = (await call(`${engineUrl}/api/event`)).json<{ name: string }[]>();
      const handler = handlers.find((each) => each.name === name);
      if (handler === undefined) throw new Error(`the engine has no handler ${name}`);
      await put({ ...handler, active: false });
      try {
        await work();
      } finally {
        await put({ ...handler, active: true });
      }
    },
    async untilEventsTaken(queue) {
      const size = async () =>
        (await call(`${engineUrl}/api/tasks/queue/all`)).json<Record<string, number>>()[queue] ?? 0;
      await pollUntil(`the queue ${queue} to be empty`, async () => (await size()) === 0, { timeoutMs: 2_000 }).catch(
        () => undefined,
      );
    },
  };
}
