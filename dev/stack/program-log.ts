// A program's log file, with its last lines at hand and, on request, every line passed on.

import { close, existsSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

export interface ProgramLogOptions {
  readonly stateDir: string;
  /** Names the file: `<stateDir>/logs/<program>.log`. */
  readonly program: string;
  /** Gets each line as it comes. */
  readonly onLine?: (line: string) => void;
}

/** How many lines are at hand. */
const maxLastLines = 20;

/** Longest line that is kept or passed on, in characters; the file has it whole. */
const maxLineLength = 2_000;

/** Takes what a program prints. Survives the program: the next run writes on in the same file. */
export class ProgramLog extends Writable {
  readonly path: string;
  readonly #file: number;
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: ((line: string) => void) | undefined;
  #lines: string[] = [];
  #rest = '';

  constructor(path: string, onLine?: (line: string) => void) {
    super({ decodeStrings: true });
    this.path = path;
    this.#file = openSync(path, 'w');
    this.#onLine = onLine;
  }

  /** The last lines, oldest first. */
  lastLines(): readonly string[] {
    return this.#rest === '' ? this.#lines : [...this.#lines, this.#rest];
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, maxLineLength);
    for (const line of lines) this.#addLine(line.slice(0, maxLineLength));
    try {
      writeSync(this.#file, chunk);
    } catch {
      // A full disk costs lines; what runs goes on.
    }
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    close(this.#file, () => done(error));
  }

  #addLine(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > maxLastLines) this.#lines.shift();
    this.#onLine?.(line);
  }
}

/** Opens the log of one program; that of the run before is kept beside it as `<program>.log.1`. */
export function openProgramLog({ stateDir, program, onLine }: ProgramLogOptions): ProgramLog {
  const folder = join(stateDir, 'logs');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${program}.log`);
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return new ProgramLog(path, onLine);
}
