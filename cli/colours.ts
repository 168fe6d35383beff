// Colours of the CLI: lines carry them, and what is not a terminal never sees them.

import { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Output } from './host.ts';

/** What a piece of text means, whatever it looks like. */
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

/** Marks a text. Outcomes and `show` may hold it always: where it goes decides whether it stays (`fitStream`). */
export function paint(meaning: Meaning, text: string): string {
  return styleText(styles[meaning], text, { validateStream: false });
}

/** The lines as this stream shows them: without colours unless it has them. */
export function fitStream(lines: readonly string[], stream: Output, env: NodeJS.ProcessEnv): string {
  const text = `${lines.join('\n')}\n`;
  return hasColours(stream, env) ? text : stripVTControlCharacters(text);
}

/** True for a terminal that has colours while NO_COLOR is not set, and for anything with FORCE_COLOR: as Node judges it. */
export function hasColours({ isTTY }: Output, env: NodeJS.ProcessEnv): boolean {
  return (isTTY === true || env['FORCE_COLOR'] !== undefined) && WriteStream.prototype.getColorDepth(env) > 2;
}

/** How many columns a text takes. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Text that somebody else wrote, for a terminal: what it could take for a command is spelled out, as in `\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /[\x00-\x1f\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
