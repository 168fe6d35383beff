// The `fetch` given to the Conductor SDK: its polls and updates go our way, and nothing else leaves the process.

import type { TaskPolls } from './task-polls.ts';
import type { TaskUpdates } from './task-updates.ts';

/**
 * Makes the fetch. Only the paths count: where the calls go is decided by `conductor.apiURL`, not by the SDK's own
 * environment variables (CONDUCTOR_SERVER_URL, CONDUCTOR_AUTH_KEY), and the SDK's time-outs and retries never apply.
 */
export function createSdkFetch(polls: TaskPolls, updates: TaskUpdates): typeof fetch {
  return async (input) => {
    const request = input as Request;
    const { pathname, searchParams } = new URL(request.url);
    const taskType = /\/api\/tasks\/poll\/batch\/([^/]+)$/.exec(pathname)?.[1];
    if (taskType !== undefined) {
      const tasks = await polls.poll(decodeURIComponent(taskType), searchParams);
      return new Response(tasks, { headers: { 'content-type': 'application/json' } });
    }
    if (request.method === 'POST' && /\/api\/tasks(?:\/update-v2)?$/.test(pathname)) {
      await updates.update(await request.text());
      // "No next task": the SDK would drop one that comes while it stops, so none is ever asked for with an update.
      return new Response(null, { status: 204 });
    }
    // 404 for its token endpoint is what makes the SDK leave authentication alone.
    return Response.json({ status: 404, message: 'not a call of a worker' }, { status: 404 });
  };
}
