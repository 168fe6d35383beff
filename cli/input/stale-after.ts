// `--stale-after`: how long after its last poll a worker counts as gone.

import type { Command } from 'commander';
import { parseDuration } from './duration.ts';

const option = '--stale-after';

export function addStaleAfterOption(command: Command): Command {
  return command.option(`${option} <duration>`, 'a worker counts as gone when its last poll is older', '90s');
}

/** Milliseconds. A bare number is in seconds. @throws VerbError */
export function parseStaleAfter(text: string): number {
  return parseDuration(/^\d+(?:\.\d+)?$/.test(text) ? `${text}s` : text, option);
}
