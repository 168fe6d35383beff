// The samples of the README, the tutorials and the how-tos: what the tests do with each fenced block, and its marks.
//
// A command (`bash`, `sh`, `console`) is run, except `npm start`, whose output is that of the running stack. A `text`,
// `http` or `json` block in the same section is compared with the output of the command above it. Settings and source
// code (`properties`, `yaml`, `ts`) are checked. HTML comments directly above a block, one for each mark, state
// exceptions (see `marks`).

import { globSync } from 'node:fs';
import { codeBlocksOf, type CodeBlock, type Page, readPage, rootDir } from '../pages.ts';

const marks = {
  /** A command that no test runs, or another block that no test checks. */
  notRun: /^not run: (?<value>.+)$/,
  notChecked: /^not checked: (?<value>.+)$/,
  /** Another test runs or checks the block; that test names the page. */
  checkedBy: /^checked by (?<value>test\/\S+\.test\.ts)$/,
  /** The command keeps running while the next ones run. */
  inBackground: /^run in another terminal$/,
  /** `npm start` is restarted before the command. */
  afterRestart: /^run after a restart of npm start$/,
  /** The command is repeated until its output is as shown, because the result may arrive later. */
  untilShown: /^run until it shows this$/,
  exitCode: /^run with exit code (?<value>\d+)$/,
} satisfies Record<string, RegExp>;

type Mark = keyof typeof marks;

/** Role of a block. */
export type Role = 'command' | 'output' | 'settings' | 'other';

/** A fenced block with its marks. */
export interface Sample extends CodeBlock {
  readonly page: string;
  readonly role: Role;
  /** Values of the marks; empty for a mark without a value. */
  readonly marks: Partial<Record<Mark, string>>;
  /** Comments that are not marks. */
  readonly unknown: readonly string[];
  /** The command whose output this block shows. */
  readonly outputOf?: Sample;
}

const roles: Partial<Record<string, Role>> = {
  ...{ bash: 'command', sh: 'command', console: 'command' },
  ...{ properties: 'settings', yaml: 'settings', ts: 'settings' },
};

/** Pages whose samples are tested, in the order in which a reader meets them. */
export const samplePages = {
  firstSteps: ['README.md', 'docs/tutorial/getting-started.md'],
  others: ['docs/tutorial/first-route.md', ...globSync('docs/how-to/*.md', { cwd: rootDir }).toSorted()],
};

/** Returns the samples of a page, in the order in which they appear. */
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

/** Returns whether the runner of the samples runs the command. */
export const isRun = ({ role, marks }: Sample) =>
  role === 'command' && marks.notRun === undefined && marks.checkedBy === undefined;

/** Returns whether the runner of the samples compares the block with the output of its command. */
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
