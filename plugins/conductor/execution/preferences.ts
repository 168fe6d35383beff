// Parses `Prefer` (RFC 7240) and derives how long a request waits. Invalid preferences are ignored, as section 2
// requires.

import type { IncomingMessage } from 'node:http';

/** The preferences of a request. */
export interface Preferences {
  /** `respond-async` (section 4.1): the client prefers a 202 at once and fetches the response later. */
  readonly respondAsync: boolean;
  /** `wait` (section 4.3) in seconds: how long the client is willing to wait; undefined when absent or invalid. */
  readonly waitSeconds: number | undefined;
  /** The other preferences as they were sent, for the back end; undefined when there are none. */
  readonly others: string | undefined;
}

/** Returns the value of `Prefer`; several fields are joined with commas. */
export function preferOf({ headers: { prefer } }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return Array.isArray(prefer) ? prefer.join(', ') : prefer;
}

/** A token (RFC 9110 section 5.6.2). */
const token = /^[\w!#$%&'*+.^`|~-]+$/;
/** Members of a list. A comma inside a quoted string is not a separator. An unclosed string extends to the end. */
const members = /(?:[^",]|"(?:[^"\\]|\\[\s\S])*"?)+/g;
/**
 * `token [BWS "=" BWS word]`, followed by any parameters. White space after `=` matches only before a word, because two
 * adjacent `[ \t]*` would take quadratic time.
 */
const preference = /^([^\s=;"]+)(?:[ \t]*=(?:[ \t]*("(?:[^"\\]|\\.)*"|[^\s=;"]+))?)?[ \t]*(?:;.*)?$/s;
/** delta-seconds (RFC 9111 section 1.2.2). Large values are capped in {@link waitPolicyOf}. */
const deltaSeconds = /^\d+$/;

const none: Preferences = { respondAsync: false, waitSeconds: undefined, others: undefined };

/**
 * Parses the field.
 * @param field the field value; several fields joined with commas (RFC 9110 section 5.3)
 */
export function parsePreferences(field: string | undefined): Preferences {
  if (field === undefined) return none;
  const seen = new Set<string>();
  const others: string[] = [];
  let respondAsync = false;
  let waitSeconds: number | undefined;
  for (const member of (field.match(members) ?? []).map((text) => text.trim()).filter((text) => text !== '')) {
    const { name, value } = readMember(member);
    if (name !== 'respond-async' && name !== 'wait') {
      others.push(member);
      continue;
    }
    // Only the first occurrence of a preference counts (section 2).
    if (seen.has(name)) continue;
    seen.add(name);
    if (name === 'respond-async') respondAsync = value === '';
    else if (deltaSeconds.test(value)) waitSeconds = Number(value);
  }
  return { respondAsync, waitSeconds, others: others.length === 0 ? undefined : others.join(', ') };
}

/** Returns the name in lower case, and the value. A missing value equals an empty one (section 2). */
function readMember(member: string): { name: string; value: string } {
  const [, name = '', value = ''] = preference.exec(member) ?? [];
  if (!token.test(name)) return { name: '', value: '' };
  const text = value.startsWith('"') ? value.slice(1, -1).replace(/\\([\s\S])/g, '$1') : value;
  return { name: name.toLowerCase(), value: text };
}

/** How long a request waits for its execution, and what the client receives when the wait ends first. */
export interface WaitPolicy {
  /**
   * Longest wait of this request, in milliseconds from its arrival: the wait that it prefers, or the response deadline
   * of its route.
   */
  readonly waitMs: number;
  /**
   * The response when the wait ends before the execution: 202 with a link to the execution when true, 504 when false.
   */
  readonly respondsAsync: boolean;
  /** `Preference-Applied` of a 202 (section 3): the applied preferences; `wait` has the longest wait in seconds. */
  readonly applied: string;
}

/**
 * Returns the wait policy of a request.
 * @param limits `responseDeadlineMs`: wait without preferences; `maxWaitMs`: longest wait for which a client may ask;
 *   both in milliseconds
 */
export function waitPolicyOf(
  { respondAsync, waitSeconds }: Preferences,
  { responseDeadlineMs, maxWaitMs }: { responseDeadlineMs: number; maxWaitMs: number },
): WaitPolicy {
  const waitMs = waitSeconds === undefined ? undefined : Math.min(waitSeconds * 1_000, maxWaitMs);
  const applied = [
    ...(respondAsync ? ['respond-async'] : []),
    ...(waitMs === undefined ? [] : [`wait=${Math.floor(waitMs / 1_000)}`]),
  ].join(', ');
  return { waitMs: waitMs ?? (respondAsync ? 0 : responseDeadlineMs), respondsAsync: applied !== '', applied };
}
