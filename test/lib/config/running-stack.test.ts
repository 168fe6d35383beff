// Tests of the file with the addresses of a running stack: who may read it, and when it is ignored or replaced.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readBootId } from '#lib/config/boot-id.ts';
import { readRunningStack, type RunningStack, writeRunningStack } from '#lib/config/running-stack.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'running-stack-'));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const stack: RunningStack = {
  pid: process.pid,
  startedAt: new Date().toISOString(),
  router: 'http://127.0.0.1:1',
  operations: 'http://127.0.0.1:2',
  engine: 'http://127.0.0.1:3',
  identityProvider: 'http://127.0.0.1:4',
  backEnds: 'http://127.0.0.1:5',
};
const deadPid = () => spawnSync(process.execPath, ['--version']).pid;

describe('the file of a running stack', () => {
  it('can be read back, by its owner only, until it is removed', () => {
    const remove = writeRunningStack(stateDir, stack);
    expect(readRunningStack(stateDir)).toEqual(stack);
    expect(readdirSync(stateDir)).toEqual(['stack.json']);
    expect(statSync(join(stateDir, 'stack.json')).mode & 0o777).toBe(0o600);
    remove();
    expect(readdirSync(stateDir)).toEqual([]);
    expect(readRunningStack(stateDir)).toBeUndefined();
  });

  it.each([
    ['its process has ended', () => ({ ...stack, pid: deadPid() })],
    ['it was written before the last boot', () => ({ ...stack, startedAt: '2001-01-01T00:00:00Z' })],
    ['it has no process id', () => ({ ...stack, pid: undefined })],
    ['it is not an object', () => null],
  ])('is ignored when %s', (_what, content) => {
    writeFileSync(join(stateDir, 'stack.json'), JSON.stringify(content()));
    expect(readRunningStack(stateDir)).toBeUndefined();
  });

  it.skipIf(readBootId() === undefined)('is used until the next boot, whatever the clock says', () => {
    writeRunningStack(stateDir, { ...stack, startedAt: '2001-01-01T00:00:00Z' });
    expect(readRunningStack(stateDir)).toMatchObject({ router: stack.router });
    const bootId = '6a1f5f3e-0000-4000-8000-000000000000';
    writeFileSync(join(stateDir, 'stack.json'), JSON.stringify({ ...stack, bootId }));
    expect(readRunningStack(stateDir)).toBeUndefined();
  });

  it.skipIf(readBootId() === undefined)('is ignored when its pid now belongs to another process', () => {
    writeRunningStack(stateDir, stack);
    const file = join(stateDir, 'stack.json');
    const content = JSON.parse(readFileSync(file, 'utf8')) as { processStartTime: string };
    const processStartTime = String(Number(content.processStartTime) - 1);
    writeFileSync(file, JSON.stringify({ ...content, processStartTime }));
    expect(readRunningStack(stateDir)).toBeUndefined();
  });

  it('is ignored when it is not JSON or its directory does not exist', () => {
    writeFileSync(join(stateDir, 'stack.json'), '{"pid":');
    expect(readRunningStack(stateDir)).toBeUndefined();
    expect(readRunningStack(join(stateDir, 'none'))).toBeUndefined();
  });

  it('is replaced when its stack ended without removing it', () => {
    writeRunningStack(stateDir, { ...stack, pid: deadPid() });
    writeRunningStack(stateDir, stack);
    expect(readRunningStack(stateDir)).toEqual(stack);
  });
});
