// The allow-list of error reports: data that the SDK adds is removed unless it is listed here.

import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ErrorEvent, Exception, StackFrame } from '@sentry/node';
import { scrubText } from './scrub-text.ts';

/** Names of the fields that are reported as tags. Their values are scrubbed like messages. */
const reportedFields = [
  'requestId',
  'executionId',
  'workflow',
  'taskId',
  'taskType',
  'domain',
  'route',
  'method',
  'status',
  'code',
  'clientId',
] as const;

/** Options of {@link allowedEvent}. */
export interface AllowedEventOptions {
  /** Value of the tag `program`. */
  program: string;
  /** File names in stack frames are reported relative to this directory. */
  rootDir: string;
}

/** Returns a new event with the allowed parts of `event`. For a malformed `event`, returns null: nothing is sent. */
export function allowedEvent(event: ErrorEvent, { program, rootDir }: AllowedEventOptions): ErrorEvent | null {
  try {
    const { event_id, timestamp, level, platform, environment, release } = event;
    return withoutUndefined({
      type: undefined,
      event_id,
      timestamp,
      level,
      platform,
      environment,
      release,
      tags: { ...allowedTags(event.tags ?? {}), program },
      exception: { values: (event.exception?.values ?? []).map((exception) => allowedException(exception, rootDir)) },
    });
  } catch {
    return null;
  }
}

function allowedTags(tags: Readonly<Record<string, unknown>>): Record<string, string> {
  const named = reportedFields.filter((name) => typeof tags[name] === 'string');
  return Object.fromEntries(named.map((name) => [name, scrubText(tags[name] as string)]));
}

function allowedException({ type, value, stacktrace }: Exception, rootDir: string): Exception {
  return withoutUndefined({
    type: type !== undefined && /^[\w$.]{1,80}$/.test(type) ? type : 'Error',
    value: scrubText(value ?? ''),
    stacktrace: stacktrace?.frames && { frames: stacktrace.frames.map((frame) => allowedFrame(frame, rootDir)) },
  });
}

function allowedFrame({ filename, function: name, lineno, colno, in_app }: StackFrame, rootDir: string): StackFrame {
  return withoutUndefined({ filename: shortFilename(filename ?? '', rootDir), function: name, lineno, colno, in_app });
}

/**
 * Returns a file name relative to the root. Directories above the root are left out, because their names may identify
 * machines or people.
 */
function shortFilename(filename: string, rootDir: string): string {
  const path = filename.startsWith('file:') ? fileURLToPath(filename) : filename;
  if (!isAbsolute(path)) return path;
  const below = relative(rootDir, path);
  return below.startsWith('..') ? `…/${path.split('/').at(-1)}` : below;
}

/** Removes undefined properties, because the SDK's types distinguish them from absent ones. */
function withoutUndefined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}
