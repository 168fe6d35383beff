// Why something did not complete, without what a worker may have written about a person.

import { parseFailure } from '#lib/envelope/failure.ts';
import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';

/** Our workers' reasons stand as they are: they never name a person. Anybody else's are scrubbed, and cut to one line. */
export function describeReason(reason: string): string {
  const failure = parseFailure(reason);
  if (failure !== null) return scrubText(`${failure.code}: ${failure.text}`);
  return scrubText(reason.split('\n', 1)[0] ?? '').slice(0, 300);
}
