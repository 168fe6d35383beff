// The samples of the README, the tutorials and the how-tos: what a test does with each fenced block, and the marks above it.
//
// A command (`bash`, `sh`, `console`) is run; `npm start` is the stack itself. A `text`, `http` or `json` block of the same
// section is the output of the command above it, and is compared. Settings and source (`properties`, `yaml`, `ts`) are
// checked. An HTML comment directly above a block, one for each mark, says what differs:

import { globSync } from 'node:fs';
import { codeBlocksOf, type CodeBlock, type Page, readPage, rootDir } from '../pages.ts';

const marks = {
  /** A command that nothing runs, or another block that nothing checks. */
  notRun: /^not run: (?<value>.+)$/,
  notChecked: /^not checked: (?<value>.+)$/,
  /** The test that runs or checks the block; it names the page. */
  checkedBy: /^checked by (?<value>test\/\S+\.test\.ts)$/,
  /** The command goes on while the next ones run. */
  inBackground: /^run in another terminal$/,
  /** `npm start` was ended and started again before the command. */
  afterRestart: /^run after a restart of npm start$/,
  /** The command is run again until its output is the one shown: it shows what arrives later. */
  untilShown: /^run until it shows this$/,
  exitCode: /^run with exit code (?<value>\d+)$/,
} satisfies Record<string, RegExp>;

type Mark = keyof typeof marks;

/** What a block is. */
export type Role = 'command' | 'output' | 'settings' | 'other';

/** A fenced block with its marks. */
export interface Sample extends CodeBlock {
  readonly page: string;
  readonly role: Role;
  /** Values of the marks; empty for a mark without one. */
  readonly marks: Partial<Record<Mark, string>>;
  /** Comments that are no mark. */
  readonly unknown: readonly string[];
  /** The command whose output it is. */
  readonly outputOf?: Sample;
}

const roles: Partial<Record<string, Role>> = {
  ...{ bash: 'command', sh: 'command', console: 'command' },
  ...{ properties: 'settings', yaml: 'settings', ts: 'settings' },
};

/** Pages whose samples are tested, in the order in which a reader meets them. */
export const samplePages = {
  tutorials: ['README.md', 'docs/tutorial/getting-started.md', 'docs/tutorial/first-route.md'],
  howTos: globSync('docs/how-to/*.md', { cwd: rootDir }).toSorted(),
};

/** Returns the samples of a page, in its order. */
export function readSamples(file: string): Sample[] {
  return samplesOf(readPage(file));
}

export function samplesOf(page: Page): Sample[] {
  const lines = page.text.replaceAll(/^( *)```.*?^\1```$/gms, (fence) => fence.replaceAll(/^.*$/gm, '')).split('\n');
  const sectionOf = (line: number) => lines.slice(0, line).filter((text) => /^#+ /.test(text)).length;
  const samples: Sample[] = [];
  for (const block of codeBlocksOf(page)) {
    const command = samples.findLast(({ role }) => role === 'command');
    const follows = command !== undefined && sectionOf(command.line) === sectionOf(block.line);
    const isOutput = follows && ['text', 'http', 'json'].includes(block.language) && !('checkedBy' in marksOf(block));
    samples.push({
      ...block,
      page: page.file,
      role: roles[block.language] ?? (isOutput ? 'output' : 'other'),
      marks: marksOf(block),
      unknown: block.comments.filter((comment) => nameOf(comment) === undefined),
      ...(isOutput ? { outputOf: command } : {}),
    });
  }
  return samples;
}

/** Whether the samples' runner runs the command. */
export const isRun = ({ role, marks }: Sample) =>
  role === 'command' && marks.notRun === undefined && marks.checkedBy === undefined;

/** Whether the samples' runner compares the output with that of its command. */
export const isCompared = ({ outputOf, marks }: Sample) =>
  outputOf !== undefined && isRun(outputOf) && marks.notChecked === undefined;

function nameOf(comment: string): Mark | undefined {
  return (Object.keys(marks) as Mark[]).find((name) => marks[name].test(comment));
}

function marksOf({ comments }: CodeBlock): Sample['marks'] {
  return Object.fromEntries(
    comments.flatMap((comment) => {
      const name = nameOf(comment);
      return name === undefined ? [] : [[name, marks[name].exec(comment)?.groups?.['value'] ?? '']];
    }),
  );
}
