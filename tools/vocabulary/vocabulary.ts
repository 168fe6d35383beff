// Finds retired words, each with the standard term that takes its place.

import { deprecatedKeys } from '#lib/config/deprecated-keys.ts';
import { deprecatedMetrics } from '../../gateway/operations/deprecated-metrics.ts';

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

const retiredWords: readonly RetiredWord[] = [
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
  word('\\bowe[sd]?\\b|\\bnoteOwed\\b', 'is missing'),
  word(
    '\\b(?:[Aa]n|[Tt]he|[Ii]ts|[Tt]heir|[Nn]o|[Aa]ny|[Ee]ach|[Ee]very|[Aa]nother) answers?\\b|\\b[Tt]hat answer\\b',
    'response',
  ),
  word('\\b[Rr]econciliations?\\b', 'reconcile loop, reconcile round'),
  word('\\bclaims? (?:of|for) .?Idempotency-Key', 'lock of an Idempotency-Key'),
  word('\\b(?:EarlyRefusal|EngineRoom|ExecutionsUnderWay|ServeParts|WatchedExecution)\\b', 'see architecture.md'),
  word('\\bStandingChange\\b|\\bstanding change\\b', 'applied change'),
  word('\\b[Tt]ryLater\\b|\\btry-later\\b', 'retryable'),
  word('\\b[Ff]oresee(?:s|n)?\\b|\\bIntervened\\b', 'preview, result'),
  word('\\b[Ww]orkInHand\\b', 'in-flight tasks'),
  word('\\b[Tt]ether(?:s|ed)?\\b', 'exit with the parent'),
  word('\\bwho breaks things\\b', 'fault injector'),
  word('\\b[Pp]rospect\\b', 'preview'),
  word('\\brungs?\\b|\\b[Ll]adder\\b', 'timeout budget'),
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

/** Deprecated names that still work, for configuration keys and metrics. */
export const deprecatedNames: readonly string[] = [...Object.keys(deprecatedKeys), ...Object.keys(deprecatedMetrics)];

/** Spellings that stay, because clients, operators or the engine rely on them. */
const kept: readonly RegExp[] = [
  new RegExp(deprecatedNames.map((name) => `\\b${name.replaceAll('.', '\\.')}\\b`).join('|'), 'g'),
  // A deprecated member of the JSON that `routes --json` prints.
  /\blane(?=:)/g,
  // The public name of a queue, its last part in a RabbitMQ pattern, and a sentence about it.
  /mdm\\{0,2}\.updates\\{0,2}\.parked|\(\?!parked\$\)|the code `parked`/g,
  // A termination reason that older routers have stored in the engine.
  /wait budget is spent/g,
  // An operator's answer to a question from the CLI.
  /the answer (?:was|is `y`)|the answer to the question|another answer than yes|\{ answer/g,
];

/** Returns every use of a retired word in a string. */
export function findRetiredWords(text: string): Finding[] {
  const withoutKept = kept.reduce((left, pattern) => left.replace(pattern, ''), text);
  // Few files contain retired words: search the lines only for the words that the text contains.
  const words = retiredWords.filter(({ pattern }) => withoutKept.search(pattern) !== -1);
  if (words.length === 0) return [];
  return withoutKept.split('\n').flatMap((rest, index) => {
    return words.flatMap(({ pattern, use }) =>
      [...rest.matchAll(pattern)].map(([found]) => ({ line: index + 1, word: found, use })),
    );
  });
}
