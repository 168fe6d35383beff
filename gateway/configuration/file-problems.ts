// Everything that is wrong with gateway.config.yml, each with file, line and column.

import { formatPath, type Path, type Position } from '#lib/conductor/definitions/json-text.ts';
import type { YamlText } from './yaml-text.ts';

export class FileProblems {
  readonly #file: string;
  readonly #text: YamlText;
  readonly #found: { readonly at: Position; readonly line: string }[];

  /** @param file how messages name it */
  constructor(file: string, text: YamlText) {
    this.#file = file;
    this.#text = text;
    this.#found = text.syntaxErrors.map(({ at, message }) => ({ at, line: `${this.#name(at)}: ${message}` }));
  }

  get count(): number {
    return this.#found.length;
  }

  /** `file:line:column: path: what is wrong`, in the order of the file, each once. */
  get lines(): string[] {
    const ordered = this.#found.toSorted(
      ({ at: one }, { at: other }) => one.line - other.line || one.column - other.column,
    );
    return [...new Set(ordered.map(({ line }) => line))];
  }

  /** @param key of the value at the path, when the message is about it: the place is its line */
  add(path: Path, message: string, key?: string): void {
    const at = this.#text.locate(key === undefined ? path : [...path, key]);
    const where = path.length === 0 ? '' : `${formatPath(path)}: `;
    this.#found.push({ at, line: `${this.#name(at)}: ${where}${message}` });
  }

  /** About the file as a whole, without a line. */
  addForFile(message: string): void {
    this.#found.push({ at: { line: 0, column: 0 }, line: `${this.#file}: ${message}` });
  }

  /** `file:line:column: path` */
  place(path: Path): string {
    const name = this.#name(this.#text.locate(path));
    return path.length === 0 ? name : `${name}: ${formatPath(path)}`;
  }

  #name({ line, column }: Position): string {
    return `${this.#file}:${line}:${column}`;
  }
}
