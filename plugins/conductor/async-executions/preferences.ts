// `Prefer` (RFC 7240): what a client says of waiting; whatever is not understood is ignored, as section 2 asks.

import type { IncomingMessage } from 'node:http';

/** What a request prefers. */
export interface Preferences {
  /** `respond-async` (section 4.1): an answer at once, the result later. */
  readonly respondAsync: boolean;
  /** `wait` (section 4.3) in seconds: how long the client would wait; undefined when it does not say. */
  readonly waitSeconds: number | undefined;
  /** The other preferences as they were sent, for the back end; undefined when there are none. */
  readonly others: string | undefined;
}

/** The field of a request, several of them joined. */
export function preferOf({ headers: { prefer } }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return Array.isArray(prefer) ? prefer.join(', ') : prefer;
}

/** A token (RFC 9110 section 5.6.2). */
const token = /^[\w!#$%&'*+.^`|~-]+$/;
/** Members of a list: a comma inside a quoted string separates nothing. One that is never closed goes to the end. */
const members = /(?:[^",]|"(?:[^"\\]|\\[\s\S])*"?)+/g;
/** `token [BWS "=" BWS word]`, and whatever parameters follow. */
const preference = /^([^\s=;"]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^\s=;"]*))?[ \t]*(?:;.*)?$/s;
/** delta-seconds (RFC 9111 section 1.2.2); what is larger than anybody waits is cut off later. */
const deltaSeconds = /^\d+$/;

const none: Preferences = { respondAsync: false, waitSeconds: undefined, others: undefined };

/**
 * Reads the field.
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
    // Of a preference that is repeated only the first counts (section 2).
    if (seen.has(name)) continue;
    seen.add(name);
    if (name === 'respond-async') respondAsync = value === '';
    else if (deltaSeconds.test(value)) waitSeconds = Number(value);
  }
  return { respondAsync, waitSeconds, others: others.length === 0 ? undefined : others.join(', ') };
}

/** Name in lower case; no value and an empty one are the same (section 2). */
function readMember(member: string): { name: string; value: string } {
  const [, name = '', value = ''] = preference.exec(member) ?? [];
  if (!token.test(name)) return { name: '', value: '' };
  const text = value.startsWith('"') ? value.slice(1, -1).replace(/\\([\s\S])/g, '$1') : value;
  return { name: name.toLowerCase(), value: text };
}

/** How long a request waits for its execution, and what happens then. */
export interface WaitPolicy {
  readonly waitMs: number;
  /** True: when the wait is spent the client is told where to look (202). False: it is told that it was (504). */
  readonly answersLater: boolean;
  /** `Preference-Applied` of a 202 (section 3): what was applied, with the seconds that were waited. */
  readonly applied: string;
}

/**
 * What becomes of the preferences.
 * @param limits `budgetMs`: the wait of a request that prefers nothing; `maxWaitMs`: the longest a client may ask for
 */
export function waitPolicyOf(
  { respondAsync, waitSeconds }: Preferences,
  { budgetMs, maxWaitMs }: { budgetMs: number; maxWaitMs: number },
): WaitPolicy {
  const waitMs = waitSeconds === undefined ? undefined : Math.min(waitSeconds * 1_000, maxWaitMs);
  const applied = [
    ...(respondAsync ? ['respond-async'] : []),
    ...(waitMs === undefined ? [] : [`wait=${Math.floor(waitMs / 1_000)}`]),
  ].join(', ');
  return { waitMs: waitMs ?? (respondAsync ? 0 : budgetMs), answersLater: applied !== '', applied };
}
