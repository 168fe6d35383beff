// Writes structured logs: one JSON line per event on stdout (pino). Fields that may hold credentials or personal data
// are redacted.

import { type Logger, pino } from 'pino';
import { LogOutput } from './log-output.ts';
import { redact } from './redact.ts';

export type { Logger } from 'pino';

/**
 * Returns a logger for one program.
 * @param program value of the field `program` in every line
 * @param level lines below this level are not written; default `info`
 */
export function createLog(program: string, level: string = 'info'): Logger {
  const options = {
    level,
    base: { program },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redact },
  };
  standardOutput ??= openStandardOutput();
  return pino(options, standardOutput);
}

/** Returns whether a string is the name of a log level, such as `info` or `silent`. */
export function isLogLevel(text: string): boolean {
  return text === 'silent' || Object.hasOwn(pino.levels.values, text);
}

let standardOutput: LogOutput | undefined;

/** Opens the output that all loggers of the process share. It is flushed when the process exits. */
function openStandardOutput(): LogOutput {
  const output = new LogOutput();
  process.once('exit', () => output.flushSync());
  return output;
}

/** Returns an error as log fields: message, name, code and the chain of causes, without the stack. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: textOf(error) };
  const code = (error as { code?: unknown }).code;
  return {
    error: error.message,
    errorName: error.name,
    ...(code === undefined ? {} : { errorCode: code }),
    ...(error.cause === undefined ? {} : { cause: errorFields(error.cause) }),
  };
}

/** Returns a value as text. `String` fails on objects without a prototype, and even these can be thrown. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
