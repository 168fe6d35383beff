// Collects the problems of gateway.config.yml, each with file, line and column.

import { formatPath, type Path, type Position } from '#lib/conductor/definitions/json-text.ts';
import type { YamlText } from './yaml-text.ts';

/** The problems of one YAML file, including its syntax errors. */
export class FileProblems {
  readonly #file: string;
  readonly #text: YamlText;
  readonly #found: { readonly at: Position; readonly line: string }[];

  /** @param file name of the file in messages */
  constructor(file: string, text: YamlText) {
    this.#file = file;
    this.#text = text;
    this.#found = text.syntaxErrors.map(({ at, message }) => ({ at, line: `${this.#name(at)}: ${message}` }));
  }

  /** Number of problems. */
  get count(): number {
    return this.#found.length;
  }

  /** Returns `file:line:column: path: message` for each problem, in file order, without duplicates. */
  get lines(): string[] {
    const ordered = this.#found.toSorted(
      ({ at: one }, { at: other }) => one.line - other.line || one.column - other.column,
    );
    return [...new Set(ordered.map(({ line }) => line))];
  }

  /**
   * Adds a problem at a path.
   * @param key a key of the value at the path; the problem is reported at the line of this key
   */
  add(path: Path, message: string, key?: string): void {
    const at = this.#text.locate(key === undefined ? path : [...path, key]);
    const where = path.length === 0 ? '' : `${formatPath(path)}: `;
    this.#found.push({ at, line: `${this.#name(at)}: ${where}${message}` });
  }

  /** Adds a problem that concerns the whole file; it is reported without a line. */
  addForFile(message: string): void {
    this.#found.push({ at: { line: 0, column: 0 }, line: `${this.#file}: ${message}` });
  }

  /** Returns the location of a path, as `file:line:column: path`. */
  place(path: Path): string {
    const name = this.#name(this.#text.locate(path));
    return path.length === 0 ? name : `${name}: ${formatPath(path)}`;
  }

  #name({ line, column }: Position): string {
    return `${this.#file}:${line}:${column}`;
  }
}
