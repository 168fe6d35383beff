// Reads the documentation for tests: pages, their tables, code blocks, links and headings.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** A Markdown page. */
export interface Page {
  /** Path below the root. */
  readonly file: string;
  readonly text: string;
}

/** A fenced block. */
export interface CodeBlock {
  /** The word after the opening fence; empty when there is none. */
  readonly language: string;
  /** Text of the block, without the indentation of the fence. */
  readonly text: string;
  /** Line of the fence in its page, from 1. */
  readonly line: number;
  /** The HTML comments directly above the fence, without their delimiters, from the top. */
  readonly comments: readonly string[];
}

const foreign = ['node_modules', '.run', '.git', 'dist'];

/** Reads one page. @param file path below the root */
export function readPage(file: string): Page {
  return { file, text: readFileSync(join(rootDir, file), 'utf8') };
}

/** Returns every Markdown page of the project. */
export function readPages(): Page[] {
  const exclude = (name: string) => foreign.includes(name);
  return globSync('**/*.md', { cwd: rootDir, exclude }).sort().map(readPage);
}

/** Returns the fenced blocks of a page, including those inside lists. */
export function codeBlocksOf({ text }: Page): CodeBlock[] {
  const fence = /((?:^ *<!--(?:(?!-->).)*-->\n\s*?)*)^( *)```(\w*)\n(.*?)^\2```$/gms;
  return [...text.matchAll(fence)].map(({ index, 1: above = '', 2: indentation, 3: language = '', 4: block = '' }) => ({
    language,
    text: block.replaceAll(new RegExp(`^${indentation}`, 'gm'), ''),
    line: text.slice(0, index + above.length).split('\n').length,
    comments: [...above.matchAll(/<!--(.*?)-->/gs)].map(([, comment = '']) => comment.trim().replaceAll(/\s+/g, ' ')),
  }));
}

/**
 * Returns the part of a page below a heading, up to the next heading of any level.
 * @throws Error when the page lacks the heading
 */
export function sectionOf({ file, text }: Page, heading: string): Page {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start === -1) throw new Error(`${file} has no heading "${heading}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^#+ /.test(line));
  return { file, text: rest.slice(0, end === -1 ? rest.length : end).join('\n') };
}

/** Returns the rows of every table of a page, without the header rows and without backquotes around cells. */
export function rowsOf({ text }: Page): string[][] {
  const tables = text.match(/(?:^\|.*\|$\n?)+/gm) ?? [];
  return tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((line) =>
        line
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map(plainCell),
      ),
  );
}

/** Returns the targets of links within the project. */
export function relativeLinksOf({ text }: Page): string[] {
  const prose = text.replace(/^```.*?^```$/gms, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** Returns the anchors of a page's headings. */
export function anchorsOf({ text }: Page): string[] {
  const headings = text.replace(/^```.*?^```$/gms, '').match(/^#+ .*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function plainCell(cell: string): string {
  return cell.trim().replace(/^`(.*)`$/, '$1');
}
