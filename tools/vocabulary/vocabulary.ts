// The words that this project does not use, each with the standard term that takes its place.

/** A retired word. */
export interface RetiredWord {
  /** Finds the word in code, comments and prose; global. */
  readonly pattern: RegExp;
  /** What to write in its place. */
  readonly use: string;
}

/** A use of a retired word. */
export interface Finding {
  /** Line in the text, from 1. */
  readonly line: number;
  readonly word: string;
  readonly use: string;
}

const word = (pattern: string, use: string): RetiredWord => ({ pattern: new RegExp(pattern, 'g'), use });

export const retiredWords: readonly RetiredWord[] = [
  word('\\b[Hh]ouse\\b', 'gateway host, or the name of the folder'),
  word('\\bHouse[A-Z]\\w*', 'GatewayHost…'),
  word('\\b[Kk]ept ?[Pp]arts?\\b', 'shared resources'),
  word('\\b(?:EngineRoom|VersionRoom|engineRoom|versionRoom)\\b', 'shared state'),
  word('\\b(?:take|takes|taken|took|taking)[ -]over\\b|\\btakeOver\\b', 'activate'),
  word('\\b[Pp]arked\\b|\\bParkedPoll\\b', 'held (poll), dead-lettered (message)'),
  word(
    '\\b(?:hand|hands|handed|handing)[ -]over\\b|\\bhandOver\\b|\\b[hH]andedOver\\b|\\bhandsOver\\b',
    'dispatch directly',
  ),
  word('\\b[Mm]end(?:s|ed|ing)?\\b|\\bisMended\\b', 'repair'),
  word('\\bowes?\\b', 'is missing'),
  word('\\bforesees?\\b|\\b[Pp]rospect\\b', 'preview'),
  word('\\brungs?\\b|\\b[Ll]adder\\b', 'time-out budget'),
  word('\\b[Pp]atience\\b', 'wait policy, deadline'),
  word('\\b[Ww]hoever\\b', 'the noun: the client, the caller, the operator'),
  word('\\bnone the less\\b', 'all the same, or nothing'),
  word('\\bsittings?\\b', 'run'),
  word('\\b(?:take|takes|taking) turns\\b', 'round-robin'),
  word('\\b[Tt]he map\\b', 'the gateway configuration, the route table'),
  word('\\blanes?\\b', 'bulkhead'),
  word('\\bwaiting line\\b|\\bWaitingLine\\b', 'fair queue'),
  word('\\bworkflow outlines?\\b|\\bWorkflowOutline\\b', 'workflow metadata'),
  word('\\bwork in hand\\b', 'in-flight tasks'),
  word('\\bearly refusals?\\b|\\brefuseEarly\\b', 'load shedding'),
  word('\\bof before\\b', 'previous'),
  word('\\bin force\\b', 'active'),
  word('\\bmaterialised\\b', 'engine defaults'),
  word('\\bverbs?\\b|\\b[a-z]+Verb\\b', 'command'),
  word('\\bwait budgets?\\b', 'response deadline'),
];

/** Spellings that clients, operators or the engine rely on: they stay. */
const kept: readonly RegExp[] = [
  // Configuration keys, metrics and a queue with a public name.
  /conductor\.handOver|conductor\.maxParkedPollMs|router_parked_polls|mdm\.updates\.parked/g,
  // The name of that queue's last part, in a pattern of RabbitMQ and in a sentence about it.
  /\(\?!parked\$\)|the code `parked`/g,
  // The title of a problem, which never changes, and reasons that the engine keeps.
  /within the wait budget|the wait budget is spent|toContain\('wait budget'\)/g,
  // A member of the JSON that `routes --json` prints.
  /\blane(?=\??[:.,]|\?\.|' ?[>,}]| \}|'\])|Pick<RouteTableEntry, 'lane'>/g,
];

/** Every use of a retired word in a text. */
export function findRetiredWords(text: string): Finding[] {
  return text.split('\n').flatMap((line, index) => {
    const rest = kept.reduce((left, pattern) => left.replace(pattern, ''), line);
    return retiredWords.flatMap(({ pattern, use }) =>
      [...rest.matchAll(pattern)].map(([found]) => ({ line: index + 1, word: found, use })),
    );
  });
}
