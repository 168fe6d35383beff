// Tests of the development stack: starting, logging, restarting and stopping its programs.

import { createServer, type Server } from 'node:http';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LongRunningProgram } from '../../../dev/stack/programs.ts';
import { Stack } from '../../../dev/stack/stack.ts';
import { pollUntil } from '../../stack/poll-until.ts';

/** A fake engine, which responds to health checks only. */
let engine: Server;
let engineUrl: string;
let stateDir: string;
const stacks: Stack[] = [];

beforeEach(async () => {
  engine = createServer((_request, response) => response.end('{"healthy":true}')).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  engineUrl = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
  stateDir = mkdtempSync(join(tmpdir(), 'stack-'));
});
afterEach(async () => {
  for (const stack of stacks.splice(0)) {
    stack.kill();
    await stack.stop();
  }
  engine.close();
  rmSync(stateDir, { recursive: true });
});

const fixture = (name: string, entry: string, options: Partial<LongRunningProgram> = {}): LongRunningProgram => ({
  name,
  entry: `test/dev/fixtures/${entry}`,
  stopOrder: 1,
  ...options,
});

function createStack(programs: readonly LongRunningProgram[], options: { verbose?: boolean; registers?: number } = {}) {
  const said: string[] = [];
  const urls = { router: '', operations: '', engine: engineUrl, identityProvider: '', backEnds: '' };
  const stack = new Stack({
    settings: {
      stateDir,
      givenEngine: engineUrl,
      givenIssuer: undefined,
      workersClient: 'worker',
      urls,
      usesStandIns: false,
      domains: [],
      isDatabaseHidden: false,
      redisPort: undefined,
      redisUrl: undefined,
      recordsKeyPrefix: '',
      ports: [],
      env: process.env,
    },
    verbose: options.verbose ?? false,
    say: (line) => said.push(line),
    programs,
    registration: fixture('definitions', 'registers.ts', { args: [String(options.registers ?? 0)] }),
  });
  stacks.push(stack);
  const start = async () => {
    await stack.prepare(new AbortController().signal);
    await stack.start();
  };
  return { stack, said, start };
}

const logOf = (program: string) => readFileSync(join(stateDir, `logs/${program}.log`), 'utf8');

describe('a stack', () => {
  it('starts every program with its arguments and logs its output to a file of its own', async () => {
    const { stack, start, said } = createStack([
      fixture('router', 'stays.ts', { args: ['as', 'router'] }),
      fixture('workers', 'stays.ts'),
    ]);
    await start();
    expect(logOf('router')).toBe('started as router\n');
    expect(logOf('definitions')).toBe('mdmWF v1 differs\n');
    expect(stack.engineKind).toBe('given by conductor.url');
    expect(said).toEqual([]);
  });

  it('when verbose, shows each line with the name of its program', async () => {
    const { start, said } = createStack([fixture('router', 'stays.ts')], { verbose: true });
    await start();
    expect(said.map((line) => line.replace(/ +/g, ' ')).sort()).toEqual([
      'definitions mdmWF v1 differs',
      'router started ',
    ]);
  });

  it('reports a program that died, with its last lines, and starts it again', async () => {
    const { start, said } = createStack([fixture('router', 'dies.ts', { args: ['100'] })]);
    await start();
    await pollUntil('the router to be started again', () => said.length >= 2);
    expect(said[0]?.split('\n').map((line) => line.trim())).toEqual([
      'router ended unexpectedly (exit code 3); starting it again in 250 ms. Its last lines:',
      'first line',
      'fatal: cannot start: no luck',
    ]);
    expect(said[1]).toBe('router recovered.');
  });

  it('fails with the last lines of a program that keeps crashing', async () => {
    const { stack, start } = createStack([fixture('router', 'dies.ts'), fixture('workers', 'stays.ts')]);
    start().catch(() => {});
    await expect(stack.failed).rejects.toThrow(
      /^router ended unexpectedly \(exit code 3\) for the 5th time within a minute; giving up[\s\S]*no luck/,
    );
  });

  it('stops its programs in order', async () => {
    const programs = [
      fixture('back-ends', 'stays.ts', { stopOrder: 3 }),
      fixture('router', 'stays.ts', { stopOrder: 2 }),
      fixture('workers', 'stays.ts', { stopOrder: 1 }),
    ];
    const { stack, start, said } = createStack(programs, { verbose: true });
    await start();
    await stack.stop();
    const stopped = said.filter((line) => line.endsWith('got SIGTERM')).map((line) => line.split(' ')[0]);
    expect(stopped).toEqual(['workers', 'router', 'back-ends']);
  });

  it('shows the errors of the CLI and continues', async () => {
    const { start, said } = createStack([fixture('router', 'stays.ts')], { registers: 2 });
    await start();
    expect(said).toEqual(['The definitions were not registered (exit code 2):\n    mdmWF v1 differs']);
  });

  it('does not start when the given engine does not respond', async () => {
    engine.close();
    const { start } = createStack([fixture('router', 'stays.ts')]);
    await expect(start()).rejects.toThrow(`no healthy engine responds at ${engineUrl} (conductor.url)`);
  });
});
