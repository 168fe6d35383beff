// Repeats members of the JSON output under their deprecated names.

/** The current name of each deprecated member. */
const deprecatedMembers = {
  answer: 'response',
  answered: 'responseStatus',
  lane: 'bulkhead',
  maxAnswerBytes: 'maxResponseBytes',
  waitBudgetMs: 'responseDeadlineMs',
} as const;

/** Returns the object with its members repeated under their deprecated names; absent members stay absent. */
export function withDeprecatedMembers<T extends object>(value: T): T & Record<string, unknown> {
  const members = value as Readonly<Record<string, unknown>>;
  const present = Object.entries(deprecatedMembers).filter(([, current]) => members[current] !== undefined);
  return { ...value, ...Object.fromEntries(present.map(([name, current]) => [name, members[current]])) };
}
