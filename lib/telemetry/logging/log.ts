// Structured logs: one JSON line an event on stdout (pino). What may hold a credential or a person is redacted by name.

import { type Logger, pino } from 'pino';
import { LogOutput } from './log-output.ts';
import { redact } from './redact.ts';

export type { Logger } from 'pino';

/** Levels a log can have; `silent` writes nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * A logger for one program.
 * @param program goes into every line as `program`
 * @param level lines below it are not written; default `info`
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

let standardOutput: LogOutput | undefined;

/** One for the process, which writes what is left when it ends. */
function openStandardOutput(): LogOutput {
  const output = new LogOutput(1);
  process.once('exit', () => output.flushSync());
  return output;
}

/** An error as log fields: name, message, code and the chain of causes; the stack only when nobody foresaw it. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  const code = (error as { code?: unknown }).code;
  return {
    error: error.message,
    errorName: error.name,
    ...(code === undefined ? {} : { errorCode: code }),
    ...(error.cause === undefined ? {} : { cause: errorFields(error.cause) }),
  };
}
