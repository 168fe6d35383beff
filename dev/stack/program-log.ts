// Writes the output of a program to its log file, keeps the last lines in memory and optionally forwards every line.

import { close, existsSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** The file that receives the log, and a listener for its lines. */
export interface ProgramLogOptions {
  readonly stateDir: string;
  /** Name of the program; the file is `<stateDir>/logs/<program>.log`. */
  readonly program: string;
  /** Called with each line. */
  readonly onLine?: (line: string) => void;
}

/** Number of lines in memory. */
const maxLastLines = 20;

/** Longest line in memory, in characters. Longer lines are cut in memory, but complete in the file. */
const maxLineLength = 2_000;

/** The log of one program. Restarts of the program append to the same file. */
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

  /** Returns the last lines, the oldest first. */
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
      // Lines are lost when the disk is full; the program must continue.
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

/** Opens the log of one program. The log of the previous run is renamed to `<program>.log.1`. */
export function openProgramLog({ stateDir, program, onLine }: ProgramLogOptions): ProgramLog {
  const folder = join(stateDir, 'logs');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${program}.log`);
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return new ProgramLog(path, onLine);
}
