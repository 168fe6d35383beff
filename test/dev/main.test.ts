// Tests of `npm start` as a process: what it refuses, what it prints, and how it stops.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runStack } from '../../dev/stack/run-stack.ts';
import { codeBlocksOf, readPage } from '../docs/pages.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { compileCache } from '../stack/compile-cache.ts';

let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'main-'));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const ports = { ROUTER_PORT: '0', OPS_PORT: '0', CONDUCTOR_PORT: '0', IDP_PORT: '0', BACKENDS_PORT: '0' };
const environment = (env: NodeJS.ProcessEnv) => ({ PATH: process.env['PATH'], STATE_DIR: stateDir, ...ports, ...env });

/** Runs `npm start` in a separate process, which ends no later than the test. `ended` resolves when it exits. */
function launch(env: NodeJS.ProcessEnv) {
  const entry = fileURLToPath(new URL('../../dev/main.ts', import.meta.url));
  const program = [process.execPath, '--disable-warning=ExperimentalWarning', entry];
  // One pipe for both streams keeps their lines in order, even when this process reads them late.
  const child = spawn('/bin/sh', ['-c', 'exec "$0" "$@" 2>&1', ...program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...compileCache, ...environment(env) },
  });
  const output = { printed: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output.printed += chunk));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
  // Needed when the test fails before it stops the process.
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const untilPrinted = (pattern: RegExp) =>
    pollUntil(`npm start to print ${pattern}`, () => {
      if (pattern.test(output.printed)) return true;
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('npm start has ended');
      return false;
    }).catch((error: Error) => {
      throw new Error(`${error.message}. It printed:\n${output.printed}`, { cause: error });
    });
  return { child, output, ended, untilPrinted };
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `npm start` in this process, for cases that end before it starts the first program of the stack. */
async function start(env: NodeJS.ProcessEnv, args: string[] = []) {
  let printed = '';
  const keep = (chunk: unknown) => ((printed += String(chunk)), true);
  const spies = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockImplementation(keep));
  const umask = process.umask();
  const handlers = signals.map((signal) => process.listeners(signal));
  const code = await runStack(args, environment(env)).finally(() => {
    process.umask(umask);
    // A handler that is left behind would end this process with exit code 1 when Vitest stops it.
    signals.forEach((signal, index) => {
      for (const added of process.listeners(signal).filter((handler) => !handlers[index]?.includes(handler)))
        process.off(signal, added);
    });
    for (const spy of spies) spy.mockRestore();
  });
  return { code, printed };
}

describe('npm start', () => {
  it('prints its usage with --help', async () => {
    const { code, printed } = await start({}, ['--help']);
    expect(code).toBe(0);
    expect(printed).toMatch(/^Usage: npm start[\s\S]*ROUTER_PORT \(8080\)/);
  });

  it('refuses to run in production', async () => {
    expect(await start({ NODE_ENV: 'production' })).toEqual({
      code: 1,
      printed: 'npm start is for development: its clients and secrets are public. It refuses NODE_ENV=production.\n',
    });
  });

  it('names a taken port and its variable, and starts nothing', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    expect(await start({ IDP_PORT: port })).toEqual({
      code: 1,
      printed: `Port ${port} (identity provider) is taken: set IDP_PORT to another one.\n`,
    });
    server.close();
  });

  it('refuses a state directory that another stack uses', async () => {
    writeFileSync(join(stateDir, 'stack.lock'), String(process.ppid));
    const blocks = codeBlocksOf(readPage('docs/how-to/reset-local-state.md'));
    const shown = blocks.find(({ language }) => language === 'text')!.text;
    const printed = shown.replace(/process \d+/, `process ${process.ppid}`).replace('.run', stateDir);
    expect(await start({})).toEqual({ code: 1, printed });
  });

  it('restricts a state directory that an earlier start left open to others, but not foreign files in it', async () => {
    const modes = (...names: string[]) =>
      names.map((name) => (statSync(join(stateDir, name)).mode & 0o777).toString(8)).join(' ');
    for (const folder of ['logs', 'engine', 'mine']) mkdirSync(join(stateDir, folder));
    const files = ['back-ends.sqlite', 'back-ends.sqlite-wal', 'logs/router.log', 'engine/conductor.db', 'mine/file'];
    for (const file of files) writeFileSync(join(stateDir, file), '');
    for (const name of ['.', 'logs', 'engine', 'mine']) chmodSync(join(stateDir, name), 0o755);
    for (const file of files) chmodSync(join(stateDir, file), 0o644);
    expect(await start({ CONDUCTOR_URL: 'http://127.0.0.1:1' })).toMatchObject({ code: 1 });
    expect(modes('.', 'logs', 'engine', 'mine')).toBe('700 700 700 755');
    expect(modes(...files)).toBe('600 600 600 600 644');
  });

  it('lists what is wrong with the configuration', async () => {
    const { code, printed } = await start({ ROUTER_PORT: 'eighty' });
    expect(code).toBe(1);
    expect(printed).toMatch(/the configuration is not valid:\n {2}- environment: router\.port/);
  });

  it('lists what is wrong with the gateway configuration, and starts nothing', async () => {
    const file = join(stateDir, 'gateway.config.yml');
    const shipped = readFileSync(new URL('../../gateway.config.yml', import.meta.url), 'utf8');
    writeFileSync(file, shipped.replace('strip: /movies', 'stripp: /movies').replace('requests: $', 'requsts: $'));
    const { code, printed } = await start({ ROUTER_GATEWAYCONFIGFILE: file, CONDUCTOR_URL: 'http://127.0.0.1:1' });
    expect(code).toBe(1);
    const lines = printed.trim().split('\n');
    expect(lines[0]).toBe('the gateway configuration is not valid:');
    expect(lines.slice(1)).toEqual([
      expect.stringContaining('pipelines.lmsDW.policies[1].rate-limit[0].action: "requests" is missing'),
      expect.stringContaining('unknown parameter "requsts"'),
      expect.stringContaining('pipelines.movies.policies[3].workflow[0].action: "strip" is missing'),
      expect.stringMatching(/gateway\.config\.yml:\d+:\d+: .*unknown parameter "stripp"$/),
    ]);
  });

  it('prints addresses and clients at once, then what is missing, and what it waits for when it stops', async () => {
    // A healthy engine without definitions, which accepts every registration.
    const engine = createHttpServer(({ url, method }, response) =>
      response.writeHead(url === '/health' || method !== 'GET' ? 200 : 404).end('{"healthy":true}'),
    ).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    onTestFinished(() => {
      engine.closeAllConnections();
      engine.close();
    });
    const { port } = engine.address() as AddressInfo;
    const { child, output, ended, untilPrinted } = launch({
      CONDUCTOR_URL: `http://127.0.0.1:${port}`,
      // The workers of all other task types run elsewhere.
      WORKERS_TASKTYPES: 'college-adaptor_intake',
    });
    await untilPrinted(/^ {2}waiting for .*no worker polls movies_intake/m);
    expect(output.printed).toMatch(
      /^ {2}router +http:[\s\S]+worker \/ worker-secret +conductor_worker[\s\S]+waiting for/m,
    );
    child.kill('SIGTERM');
    const { code, printed } = await ended;
    expect(code).toBe(0);
    expect(printed).not.toContain('Ready after');
    expect(printed).toMatch(
      /Stopping\. Press Ctrl-C again to stop immediately\.\nWaiting for workers, workers-002, pruner to end\.\nWaiting for router to end\.\n/,
    );
  });

  it('stops gracefully when a signal arrives twice, as from systemd, and at once on another signal', async () => {
    const asked = Promise.withResolvers<void>();
    const engine = createHttpServer(() => asked.resolve()).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    onTestFinished(() => {
      engine.closeAllConnections();
      engine.close();
    });
    const ended: unknown[] = [];
    const exit = vi.spyOn(process, 'exit').mockImplementation((code) => void ended.push(code) as never);
    onTestFinished(() => exit.mockRestore());
    const others = process.listeners('SIGTERM');
    const started = start({ CONDUCTOR_URL: `http://127.0.0.1:${(engine.address() as AddressInfo).port}` });
    await asked.promise;
    const [handler] = process.listeners('SIGTERM').filter((added) => !others.includes(added));
    handler?.('SIGTERM');
    handler?.('SIGTERM');
    expect(ended).toEqual([]);
    handler?.('SIGINT');
    expect(ended).toEqual([1]);
    expect(await started).toMatchObject({ code: 0, printed: expect.stringContaining('Stopping. Press Ctrl-C') });
  });

  it('reports a given engine that does not respond', async () => {
    const { code, printed } = await start({ CONDUCTOR_URL: 'http://127.0.0.1:1' });
    expect({ code, printed }).toEqual({
      code: 1,
      printed: 'no healthy engine responds at http://127.0.0.1:1 (conductor.url)\n',
    });
  });
});
