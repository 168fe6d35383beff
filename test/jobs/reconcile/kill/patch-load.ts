// A load generator: each client patches one person with one cccid after the other, whatever the responses are.

import { setTimeout as pause } from 'node:timers/promises';
import { call, callerFor } from '../../../stack/client.ts';

export interface Acknowledged {
  readonly executionId: string;
  readonly sisPersonId: string;
  readonly cccid: string;
}

export interface PatchLoad {
  /** PATCHes with a 2xx response. */
  readonly acknowledged: readonly Acknowledged[];
  /** Responses by status; 0: the connection broke. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Stops each client after its current request. */
  stop(): Promise<void>;
}

/** Starts one client per person of college 001. */
export async function startPatchLoad(routerUrl: string, persons: readonly string[]): Promise<PatchLoad> {
  const demo = await callerFor(routerUrl);
  const acknowledged: Acknowledged[] = [];
  const statuses = new Map<number, number>();
  let stopped = false;
  const runClient = async (sisPersonId: string, index: number): Promise<void> => {
    for (let number = 1; !stopped; number++) {
      const cccid = `K${index}N${number}`;
      const answer = await demo(`/adaptor/001/mock/colleges/001/persons/${sisPersonId}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ cccid }),
        signal: AbortSignal.timeout(30_000),
      }).catch(() => null);
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (answer !== null && status >= 200 && status <= 299) {
        acknowledged.push({ executionId: String(answer.headers['x-execution-id']), sisPersonId, cccid });
      } else await pause(200);
    }
  };
  const clients = persons.map(runClient);
  return {
    acknowledged,
    statuses,
    async stop() {
      stopped = true;
      await Promise.all(clients);
    },
  };
}

/** Persons of college 001: those that MDM also knows at college 002, and some that only this college has. */
export async function preparePersons(backEndsUrl: string): Promise<{ shared: string[]; own: string[] }> {
  const crosswalk = (await call(`${backEndsUrl}/mdm/crosswalk`)).json<
    { goldenId: string; misCode: string; sisPersonId: string }[]
  >();
  const elsewhere = new Set(crosswalk.filter(({ misCode }) => misCode === '002').map(({ goldenId }) => goldenId));
  const shared = crosswalk
    .filter(({ misCode, goldenId }) => misCode === '001' && elsewhere.has(goldenId))
    .map(({ sisPersonId }) => sisPersonId);
  const all = (await call(`${backEndsUrl}/adaptors/001/mock/colleges/001/persons`)).json<{ sisPersonId: string }[]>();
  const own = all.map(({ sisPersonId }) => sisPersonId).filter((id) => !shared.includes(id));
  return { shared, own: own.slice(0, 4) };
}
