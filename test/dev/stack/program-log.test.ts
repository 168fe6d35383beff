// Tests of the log of a program, and of the readable form of its lines.

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openProgramLog, ProgramLog } from '../../../dev/stack/program-log.ts';
import { readableLine } from '../../../dev/stack/readable-line.ts';
import { requires } from '../../run/requirements.ts';

let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'program-log-'));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

async function end(log: ProgramLog) {
  log.end();
  await once(log, 'finish');
}

describe('a program log', () => {
  it('writes everything to its file and passes whole lines on', async () => {
    const lines: string[] = [];
    const log = openProgramLog({ stateDir, program: 'router', onLine: (line) => lines.push(line) });
    log.write('one\ntw');
    log.write('o\nrest');
    expect(lines).toEqual(['one', 'two']);
    await end(log);
    expect(log.path).toBe(join(stateDir, 'logs/router.log'));
    expect(readFileSync(log.path, 'utf8')).toBe('one\ntwo\nrest');
  });

  it('continues without its file when the disk is full', requires('dev-full'), async () => {
    const log = new ProgramLog('/dev/full');
    log.write('lost\n');
    log.write('lost as well\n');
    await end(log);
    expect(log.lastLines()).toEqual(['lost', 'lost as well']);
  });

  it('keeps the last lines, including an unfinished line', async () => {
    const log = openProgramLog({ stateDir, program: 'router' });
    for (let line = 1; line <= 30; line++) log.write(`line ${line}\n`);
    log.write('cut sh');
    expect(log.lastLines()).toHaveLength(21);
    expect(log.lastLines().slice(-2)).toEqual(['line 30', 'cut sh']);
    await end(log);
  });

  it('does not break a character that arrives in two chunks', async () => {
    const lines: string[] = [];
    const log = openProgramLog({ stateDir, program: 'router', onLine: (line) => lines.push(line) });
    const bytes = Buffer.from('Quốc\n');
    log.write(bytes.subarray(0, 4));
    log.write(bytes.subarray(4));
    expect(lines).toEqual(['Quốc']);
    await end(log);
  });

  it('keeps the log of the previous run', async () => {
    const first = openProgramLog({ stateDir, program: 'router' });
    first.write('first run\n');
    await end(first);
    const second = openProgramLog({ stateDir, program: 'router' });
    second.write('second run\n');
    await end(second);
    expect(readFileSync(join(stateDir, 'logs/router.log'), 'utf8')).toBe('second run\n');
    expect(readFileSync(join(stateDir, 'logs/router.log.1'), 'utf8')).toBe('first run\n');
  });
});

describe('readableLine', () => {
  it('shortens a structured line to level, message and error', () => {
    expect(readableLine('{"level":"fatal","time":"now","msg":"cannot start","error":"port 1 is taken"}')).toBe(
      'fatal: cannot start: port 1 is taken',
    );
  });

  it('leaves any other line as it is', () => {
    expect(readableLine('Error: boom')).toBe('Error: boom');
    expect(readableLine('{"a":1}')).toBe('{"a":1}');
    expect(readableLine('12')).toBe('12');
    expect(readableLine('null')).toBe('null');
  });
});
