// Checks the invariants after the kills by reading the adaptors and MDM, not logs.

import { call } from '../../../stack/client.ts';
import type { Acknowledged } from './patch-load.ts';

export interface Verdict {
  /** One line per violation. */
  readonly violations: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

interface LogEntry {
  kind: string;
  status: string;
  executionId: string;
  misCode: string;
  sisPersonId: string;
  cccid?: string;
}
interface Golden {
  goldenId: string;
  cccid: string | null;
}
interface Link {
  goldenId: string;
  misCode: string;
  sisPersonId: string;
}

/** Returns the violations. @param persons the patched persons of college 001 */
export async function judge(
  backEndsUrl: string,
  { acknowledged, persons }: { acknowledged: readonly Acknowledged[]; persons: readonly string[] },
): Promise<Verdict> {
  const read = async <T>(path: string) => (await call(`${backEndsUrl}${path}`)).json<T>();
  const log = await read<LogEntry[]>('/mdm/governance-log');
  const notifications = log.filter(({ kind }) => kind === 'notification');
  const violations: string[] = [];
  let appliedTwice = 0;
  for (const { executionId, cccid, sisPersonId } of acknowledged) {
    const own = notifications.filter((entry) => entry.executionId === executionId);
    const right = own.filter((entry) => entry.cccid === cccid && entry.sisPersonId === sisPersonId);
    if (right.length !== 1) violations.push(`${executionId}: MDM has ${right.length} effective updates`);
    if (own.length > right.length) violations.push(`${executionId}: MDM has an update that was not sent`);
    const key = await read<{ applied?: number }>(`/adaptors/001/mock/idempotency-keys/${executionId}`);
    if (key.applied !== 1) violations.push(`${executionId}: answered 2xx, applied ${String(key.applied)} times`);
    if (Number(key.applied) > 1) appliedTwice++;
  }
  const golden = new Map((await read<Golden[]>('/mdm/golden-records')).map(({ goldenId, cccid }) => [goldenId, cccid]));
  const crosswalk = await read<Link[]>('/mdm/crosswalk');
  let sharedPersons = 0;
  for (const sisPersonId of persons) {
    const { cccid } = await read<{ cccid: string }>(`/adaptors/001/mock/colleges/001/persons/${sisPersonId}`);
    const link = crosswalk.find((each) => each.misCode === '001' && each.sisPersonId === sisPersonId);
    const known = golden.get(link?.goldenId ?? '');
    if (known !== cccid) violations.push(`${sisPersonId}: the adaptor has ${cccid}, MDM ${String(known)}`);
    const there = crosswalk.find((each) => each.misCode === '002' && each.goldenId === link?.goldenId);
    if (there === undefined) continue;
    sharedPersons++;
    const other = await read<{ cccid: string }>(`/adaptors/002/mock/colleges/002/persons/${there.sisPersonId}`);
    if (other.cccid !== cccid) violations.push(`${sisPersonId}: 001 has ${cccid}, 002 ${other.cccid}`);
  }
  return {
    violations,
    counts: {
      acknowledged: acknowledged.length,
      notifications: notifications.length,
      shares: log.filter(({ kind, status }) => kind === 'share' && status === 'shared').length,
      appliedTwice,
      persons: persons.length,
      sharedPersons,
    },
  };
}
