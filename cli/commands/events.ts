// The command `events`: shows the events of each handler and their results. Reads the engine's database, since the
// engine's API does not expose events.

import { nameOfState } from '#lib/conductor/executions/names.ts';
import type { EngineDatabase, EventRecord } from '#lib/conductor/database/database.ts';
import { openEngineDatabase } from '#lib/conductor/database/engine-database.ts';
import { addDirOption, type FolderOptions } from '../gateway/gateway-folder.ts';
import { loadCommandConfig } from '../gateway/command-config.ts';
import { paint, printable } from '../output/colours.ts';
import { parseCount, parseMoment } from '../input/duration.ts';
import { parseName } from '../input/names.ts';
import { parseWords } from '../input/states.ts';
import { type Outcome, CommandError } from '../outcome.ts';
import { describeReason } from '#lib/envelope/describe-reason.ts';
import { countOf, formatTable } from '../output/table.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';
import { withDeprecatedMembers } from '../output/deprecated-members.ts';

/** Options of `events`: filters, number of rows, and the database to read. */
export interface EventsOptions extends FolderOptions {
  readonly handler?: string;
  readonly state?: string;
  readonly since?: string;
  readonly limit: string;
  readonly database?: string;
}

/** The command `events`: shows what event handlers did, from the engine database. */
export const eventsCommand: CommandDefinition<EventsOptions> = {
  name: 'events',
  description:
    'Show the events of each event handler, and what each event started or why it was skipped. Reads the engine database.',
  exitCodes: {
    0: 'the events are shown, if any',
    1: 'error: there is no database, or it is unreachable',
  },
  examples: [
    { command: 'events', does: 'show the newest events' },
    {
      command: 'events --handler mdm --state skipped --since 2h',
      does: 'show which PATCHes did not go to MDM, and why',
    },
    { command: 'events --database sqlite:/backup/conductor.db', does: 'read another database, such as a copy' },
  ],
  addOptions: (command) =>
    addDirOption(command)
      .option('--handler <name>', 'only this handler')
      .option('--state <states>', 'completed, skipped, failed, in-progress; comma-separated')
      .option(
        '--since <when>',
        'only events after this time: 2026-11-21T08:00:00Z, or how long ago, such as 90s, 15m, 2h or 30d',
      )
      .option('--limit <count>', 'how many to show', '20')
      .option(
        '--database <url>',
        'sqlite:<file> or postgresql://… (default: conductor.databaseURL, or that of the running stack)',
      ),
  run: runEvents,
};

const states = ['COMPLETED', 'SKIPPED', 'FAILED', 'IN_PROGRESS'];

/** Reads event records from the engine's database. @throws ConfigError or CommandError */
async function runEvents(options: EventsOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const { handler, state, since, limit } = options;
  const query = {
    limit: parseCount(limit, '--limit'),
    ...(handler === undefined ? {} : { handler: parseName(handler, '--handler') }),
    ...(state === undefined ? {} : { states: parseWords(state, states) }),
    ...(since === undefined ? {} : { since: parseMoment(since, '--since', Date.now()) }),
  };
  const config = await loadCommandConfig(
    host,
    options.database === undefined ? ['conductor.databaseURL'] : [],
    options,
  );
  const url = options.database ?? config['conductor.databaseURL'];
  if (url === undefined) {
    throw new CommandError([
      "the engine's API does not expose events; only its database does: set conductor.databaseURL or use --database (postgresql://…, or sqlite:<file>, but not the file of an engine in a Docker virtual machine)",
    ]);
  }
  const database = await openEngineDatabase(url);
  try {
    return describe(await database.readEvents(query), database);
  } finally {
    await database.close();
  }
}

function describe(events: readonly EventRecord[], { kind }: EngineDatabase): Outcome {
  const shownEvents = events.map((event) => ({
    ...event,
    ...(event.failure === undefined ? {} : { failure: describeReason(event.failure) }),
  }));
  const columns = ['at', 'handler', 'state', 'event', 'result'];
  return {
    exitCode: 0,
    lines:
      shownEvents.length === 0
        ? ['no events']
        : [...formatTable(columns, shownEvents.map(toRow)), '', countOf(shownEvents.length, 'event')],
    json: { ok: true, database: kind, events: shownEvents.map(toJson) },
  };
}

function toJson(event: EventRecord): Record<string, unknown> {
  return withDeprecatedMembers(event);
}

function toRow(event: EventRecord): string[] {
  const { at, handler, state, event: name } = event;
  return [
    at,
    printable(handler),
    paintEventState(state),
    printable(name.replace(/^conductor:/, '')),
    printable(outcomeOf(event)),
  ];
}

function paintEventState(state: string): string {
  const meaning =
    state === 'COMPLETED' ? 'good' : state === 'SKIPPED' ? 'faint' : state === 'FAILED' ? 'bad' : 'warning';
  return paint(meaning, nameOfState(state));
}

function outcomeOf({
  state,
  started,
  condition,
  source,
  method,
  responseStatus,
  failure,
  messageId,
}: EventRecord): string {
  if (started !== undefined) return `started ${started}`;
  if (state === 'SKIPPED') {
    const was = [method, responseStatus === undefined ? undefined : `with status ${responseStatus}`].filter(
      (part) => part !== undefined,
    );
    return `${was.join(' ') || 'an event'}${source === undefined ? '' : ` in execution ${source}`}: the handler's condition is false (${condition ?? 'the condition was not recorded'})`;
  }
  if (failure !== undefined) return failure;
  return state === 'IN_PROGRESS'
    ? `not finished: in progress, or lost when the engine was killed; in that case the reconciler repairs it (EVENT task ${messageId})`
    : `nothing was started (EVENT task ${messageId})`;
}
