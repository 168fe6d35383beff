// Merges the V8 coverage of many processes into the covered lines of each file.
//
// Node replaces types with blanks, so V8's offsets are those of the source file.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripTypeScriptTypes } from 'node:module';
import { pathToFileURL } from 'node:url';

/** One range of a function, in characters; nested ranges follow the range that contains them. */
interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** V8's report of one script in one process (Chrome DevTools protocol, Profiler.ScriptCoverage). */
export interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

export interface FileCoverage {
  readonly file: string;
  /** Lines with code. */
  readonly lines: number;
  readonly covered: number;
  /** Numbers, from 1, of the lines with code that no process has run. */
  readonly missed: readonly number[];
}

/** Reads the reports in `dir` and returns the coverage of each of `files`, which are paths below `rootDir`. */
export function readCoverage(dir: string, rootDir: string, files: readonly string[]): FileCoverage[] {
  const urls = new Map(files.map((file) => [pathToFileURL(join(rootDir, file)).href, file]));
  const sources = new Map<string, Source>();
  for (const name of readdirSync(dir).filter((each) => each.endsWith('.json'))) {
    for (const script of parse(readFileSync(join(dir, name), 'utf8'))) {
      const file = urls.get(script.url.split('?')[0] as string);
      if (file === undefined) continue;
      const source = sources.get(file) ?? readSource(readFileSync(join(rootDir, file), 'utf8'));
      sources.set(file, source);
      addCoverage(source, script);
    }
  }
  return files.map((file) => {
    const { lines } = sources.get(file) ?? readSource(readFileSync(join(rootDir, file), 'utf8'));
    const missed = lines.filter(({ isCovered }) => !isCovered).map(({ number }) => number);
    return { file, lines: lines.length, covered: lines.length - missed.length, missed };
  });
}

/** Parses a report. Returns an empty list for a report that is incomplete because its process was killed. */
function parse(text: string): readonly ScriptCoverage[] {
  try {
    return (JSON.parse(text) as { result: ScriptCoverage[] }).result;
  } catch {
    return [];
  }
}

export interface Source {
  readonly lines: readonly Line[];
}

interface Line {
  readonly number: number;
  /** Offset of the first character of the line's code. */
  readonly start: number;
  isCovered: boolean;
}

/**
 * Finds the lines with code: those that do not consist only of blanks, comments, types, imports or closing brackets.
 */
function readSource(text: string): Source {
  const stripped = stripTypeScriptTypes(text).replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));
  const lines: Line[] = [];
  let offset = 0;
  for (const [index, line] of stripped.split('\n').entries()) {
    const code = line.replace(/^\s*\/\/.*$/, '');
    if (/\w/.test(code) && !/^(import|export \{|export \*)\b/.test(code))
      lines.push({ number: index + 1, start: offset + code.search(/\S/), isCovered: false });
    offset += line.length + 1;
  }
  return { lines };
}

/** Marks the lines that one process has run. */
function addCoverage({ lines }: Source, { functions }: Pick<ScriptCoverage, 'functions'>): void {
  // Inner ranges come after the outer ones and are more specific.
  const ranges = functions
    .flatMap((each) => each.ranges)
    .toSorted((one, other) => one.startOffset - other.startOffset || other.endOffset - one.endOffset);
  for (const line of lines) {
    if (line.isCovered) continue;
    const innermost = ranges.findLast(
      ({ startOffset, endOffset }) => startOffset <= line.start && line.start < endOffset,
    );
    line.isCovered = (innermost?.count ?? 0) > 0;
  }
}
