// What each kill cost, as a table for people and for docs/guarantees.md.

import type { Sent } from './load.ts';
import { hasFailed, type Kill } from './nemesis.ts';

const head = [
  'killed',
  'it works again after',
  'last request that failed was sent after',
  'requests',
  'failed',
  'slowest that succeeded',
];

/** A row for each kill, in Markdown. Times are from the kill on. */
export function tableOf(kills: readonly Kill[]): string {
  const rows = [head, head.map(() => '---'), ...kills.map(rowOf)];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function rowOf({ name, killedAt, backAt, sent }: Kill): string[] {
  const failed = sent.filter(hasFailed);
  const slowest = Math.max(0, ...sent.filter((entry) => !hasFailed(entry)).map(msOf));
  return [
    name,
    seconds(backAt - killedAt),
    failed.length === 0 ? 'none failed' : lastFailure(failed, killedAt),
    String(sent.length),
    failed.length === 0 ? '0' : countsOf(failed),
    seconds(slowest),
  ];
}

function lastFailure(failed: readonly Sent[], killedAt: number): string {
  const last = Math.max(...failed.map(({ sentAt }) => sentAt)) - killedAt;
  return last <= 0 ? 'only those in flight' : seconds(last);
}

/** `503 × 12, closed × 3`, the most frequent first. */
function countsOf(failed: readonly Sent[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of failed) {
    const end = String(outcome?.status ?? 'closed');
    counts.set(end, (counts.get(end) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([end, count]) => `${end} × ${count}`).join(', ');
}

const msOf = ({ sentAt, endedAt = sentAt }: Sent) => endedAt - sentAt;
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
