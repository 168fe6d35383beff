// Uses escape sequences to colour text for terminals, and removes them for streams without colours.

import { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Output } from '../host.ts';

/** The meaning of a piece of text, which selects its style. */
export type Meaning = keyof typeof styles;

const styles = {
  heading: 'bold',
  faint: 'dim',
  added: 'green',
  removed: 'red',
  changed: 'yellow',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
} as const;

/** Adds the style of a meaning to a string. `fitStream` removes it again for streams without colours. */
export function paint(meaning: Meaning, text: string): string {
  return styleText(styles[meaning], text, { validateStream: false });
}

/** Returns the lines as one text, without escape sequences unless the stream has colours. */
export function fitStream(lines: readonly string[], stream: Output, env: NodeJS.ProcessEnv): string {
  const text = `${lines.join('\n')}\n`;
  return hasColours(stream, env) ? text : stripVTControlCharacters(text);
}

/**
 * Returns true for a terminal with colours unless NO_COLOR is set. FORCE_COLOR takes precedence for any stream: `0`
 * gives false; `1`, `2` and `3` give true.
 */
export function hasColours({ isTTY }: Output, env: NodeJS.ProcessEnv): boolean {
  return (isTTY === true || env['FORCE_COLOR'] !== undefined) && WriteStream.prototype.getColorDepth(env) > 2;
}

/** Returns the number of columns that a string occupies; escape sequences do not count. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Returns text from an untrusted source with its control characters escaped, as in `\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /[\x00-\x1f\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
