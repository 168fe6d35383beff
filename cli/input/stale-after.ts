// The option `--stale-after`: how long after its last poll a worker counts as gone.

import type { Command } from 'commander';
import { parseDuration } from './duration.ts';

const option = '--stale-after';

/** Adds `--stale-after`, 90 s by default. */
export function addStaleAfterOption(command: Command): Command {
  return command.option(
    `${option} <duration>`,
    'a worker counts as inactive when its last poll is older than this',
    '90s',
  );
}

/** Returns milliseconds. A bare number is in seconds. @throws CommandError when it is not a duration */
export function parseStaleAfter(text: string): number {
  return parseDuration(/^\d+(?:\.\d+)?$/.test(text) ? `${text}s` : text, option);
}
