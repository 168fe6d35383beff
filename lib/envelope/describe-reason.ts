// Formats the reason for a failure without personal data.

import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';
import { parseFailure } from './failure.ts';

/**
 * Returns the reason for a failure with personal data removed. A reason that is not in the format of the router's
 * workers is also truncated to one line of at most 300 characters.
 */
export function describeReason(reason: string): string {
  const failure = parseFailure(reason);
  if (failure !== null) return scrubText(`${failure.code}: ${failure.text}`);
  return scrubText(reason.split('\n', 1)[0] ?? '').slice(0, 300);
}
