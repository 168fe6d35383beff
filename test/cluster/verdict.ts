// What holds after the kills: from the history, from the load balancer, and from what adaptors and MDM have at the end.

import { checkHistory, type WrittenText } from '../faults/check-history.ts';
import type { AnyEvent } from '../faults/history.ts';
import { call } from '../stack/client.ts';
import type { Broken } from './load-balancer.ts';
import { changed, type Sent } from './load.ts';
import type { Kill } from './nemesis.ts';

export interface VerdictInput {
  readonly events: readonly AnyEvent[];
  readonly texts: readonly WrittenText[];
  readonly secrets: readonly string[];
  readonly kills: readonly Kill[];
  readonly sent: readonly Sent[];
  readonly broken: readonly Broken[];
  readonly slack: number;
}

/** One line for each thing that does not hold. */
export function violationsOf(input: VerdictInput): string[] {
  const { events, texts, secrets, slack, kills } = input;
  const broken = checkHistory({ events, texts, secrets, slack });
  return [
    ...broken.map(({ invariant, subject, what }) => `${invariant} ${subject}: ${what}`),
    ...input.sent.flatMap((entry) => unclear(entry, input)),
    ...kills.filter(({ recovered }) => !recovered).map(({ name }) => `${name}: clients still noticed 90 s later`),
  ];
}

/** A request ends with a response of the product's, and without one only when its own router was killed. */
function unclear({ kind, outcome }: Sent, { broken, kills }: VerdictInput): string[] {
  if (outcome === undefined) return ['a request has not ended'];
  const { op, status, problem } = outcome;
  if (status === undefined) return wasOnKilledRouter(op, broken, kills) ? [] : [`${op}: closed without a reason`];
  if (kind === 'without a good token') return status === 401 || status === 503 ? [] : [`${op}: answered ${status}`];
  if (status === 200) return [];
  // RFC 6749 has no problem documents.
  if (kind === 'token') return status === 503 ? [] : [`${op}: the token path answered ${status}`];
  return status >= 500 && problem !== undefined ? [] : [`${op}: answered ${status} ${problem ?? 'without a problem'}`];
}

/** Its connection may be reset a moment before or after the signal is seen here, in milliseconds. */
const toleranceMs = 2_000;

function wasOnKilledRouter(op: string, broken: readonly Broken[], kills: readonly Kill[]): boolean {
  const own = broken.find(({ requestId }) => requestId === op);
  if (own === undefined) return false;
  const at = own.at - performance.timeOrigin;
  return kills.some(({ name, killedAt }) => name === own.target && Math.abs(at - killedAt) < toleranceMs);
}

/** Each person whose `cccid` in MDM is not the one that the adaptor has. Persons that MDM does not know are left out. */
export async function stalePersons(backEndsUrl: string): Promise<string[]> {
  const read = async <T>(path: string) => (await call(`${backEndsUrl}${path}`)).json<T>();
  const golden = await read<{ goldenId: string; cccid: string | null }[]>('/mdm/golden-records');
  const crosswalk = await read<{ goldenId: string; misCode: string; sisPersonId: string }[]>('/mdm/crosswalk');
  const stale: string[] = [];
  for (const { mis, id } of changed) {
    const link = crosswalk.find(({ misCode, sisPersonId }) => misCode === mis && sisPersonId === id);
    if (link === undefined) continue;
    const known = golden.find(({ goldenId }) => goldenId === link.goldenId)?.cccid;
    for (const each of crosswalk.filter(({ goldenId }) => goldenId === link.goldenId)) {
      const { cccid } = await read<{ cccid: string }>(
        `/adaptors/${each.misCode}/mock/colleges/${each.misCode}/persons/${each.sisPersonId}`,
      );
      if (cccid !== known) stale.push(`${each.misCode} ${each.sisPersonId}: the adaptor has ${cccid}, MDM ${known}`);
    }
  }
  return stale;
}
