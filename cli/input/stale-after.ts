// The option `--stale-after`: the time after its last poll at which a worker counts as inactive.

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

/**
 * Returns the duration in milliseconds. A number without a unit is in seconds.
 * @throws CommandError when it is not a duration
 */
export function parseStaleAfter(text: string): number {
  return parseDuration(/^\d+(?:\.\d+)?$/.test(text) ? `${text}s` : text, option);
}
