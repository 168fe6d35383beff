// Tests of the package, installed from its tarball as docs/how-to/make-a-gateway.md describes: in an empty folder, with
// an empty npm cache.

import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocksOf, readPage, rootDir } from '../docs/pages.ts';
import { withSample } from '../docs/samples/gateway-sample.ts';
import { requires } from '../run/requirements.ts';
import { callerFor } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';

/** Created in the set-up, so that no folder is left behind when the tests are skipped. */
const dir = join(tmpdir(), `service-router-package-${randomUUID()}`);
const gateway = join(dir, 'my-gateway');
/** A gateway that `init` creates from the clone; `init` packs the package into this folder. */
const fromClone = join(dir, 'from-clone');
const tarball = join(fromClone, 'service-router-0.1.0.tgz');
const { PATH, HOME, JAVA_HOME, XDG_CACHE_HOME, NODE_EXTRA_CA_CERTS } = process.env;
/**
 * Environment of npm and the gateway: no other variable of this run reaches them. Behind a proxy that has its own
 * certificate, npm can install packages only with `NODE_EXTRA_CA_CERTS`.
 */
const env = {
  ...{ PATH, HOME, XDG_CACHE_HOME, npm_config_cache: join(dir, 'cache') },
  ...(JAVA_HOME && { JAVA_HOME }),
  ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }),
};

/** Runs a command to completion and returns its output. @throws Error with the output when the command fails */
async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 16_777_216 }).catch(
    (error: Error & { stdout: string; stderr: string }) => {
      throw new Error(`${command} ${args.join(' ')}: ${error.message}\n${error.stdout}\n${error.stderr}`);
    },
  );
  return stdout;
}

/** Returns the contents of the gateway's own files, by path. */
function ownFiles(): Record<string, string> {
  const files = globSync('{*.yml,*.json,*.md,config/**,event-handlers/**,plugins/**,test/**,workers/**,workflows/**}', {
    cwd: gateway,
    withFileTypes: true,
  });
  const paths = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const own = paths.filter((path) => !/package(-lock)?\.json$/.test(path));
  return Object.fromEntries(own.map((path) => [path, readFileSync(path, 'utf8')]));
}

/**
 * Writes the files that the how-to shows. The first line of a TypeScript block names its file; the line above a JSON
 * block does the same.
 */
function followTheHowTo(): void {
  const page = readPage('docs/how-to/make-a-gateway.md');
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(gateway, file)), { recursive: true });
    writeFileSync(join(gateway, file), text);
  };
  const blocks = codeBlocksOf(page);
  for (const { text } of blocks.filter(({ language }) => language === 'ts'))
    write(/^\/\/ (\S+\.ts):/.exec(text)![1]!, text);
  for (const [, file, text] of page.text.matchAll(/, in `(\S+\.json)`:\n\n(?:<!--.*?-->\n\n)?```json\n(.*?)```/gs))
    write(file!, text!);
  const settings = blocks.find(({ language }) => language === 'yaml')!.text;
  write('gateway.config.yml', withSample(readFileSync(join(gateway, 'gateway.config.yml'), 'utf8'), settings));
}

/** Runs `npm start` in the gateway, on free ports, until `use` has finished. */
async function whileStarted(use: (url: string) => Promise<void>): Promise<void> {
  const names = ['ROUTER_PORT', 'OPS_PORT', 'CONDUCTOR_PORT', 'IDP_PORT'];
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, String(await findFreePort())] as const)),
  );
  const child = spawn('npm', ['start'], { cwd: gateway, env: { ...env, ...ports } });
  const ended = once(child, 'close');
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')));
  try {
    await pollUntil(
      'npm start to be ready',
      () => {
        if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}:\n${printed}`);
        return /^Ready after/m.test(printed);
      },
      { timeoutMs: 180_000 },
    );
    await use(`http://127.0.0.1:${ports['ROUTER_PORT']}`);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

describe('the package', { ...requires('full'), timeout: 600_000 }, () => {
  beforeAll(async () => {
    mkdirSync(dir);
    await run(rootDir, 'npm', 'run', '-s', 'router', '--', 'init', fromClone);
    mkdirSync(join(dir, 'empty'));
    await run(join(dir, 'empty'), 'npm', 'install', tarball);
    await run(join(dir, 'empty'), 'npx', 'service-router', 'init', gateway);
    await run(gateway, 'npm', 'install');
  }, 600_000);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('gateways created from a clone and from its tarball depend on the same tarball', () => {
    const dependencyOf = (folder: string) =>
      (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: object }).dependencies;
    expect(dependencyOf(fromClone)).toEqual({ 'service-router': 'file:service-router-0.1.0.tgz' });
    expect(dependencyOf(gateway)).toEqual({ 'service-router': 'file:../from-clone/service-router-0.1.0.tgz' });
  });

  it('npm start serves the example route; plan, check and routes use the gateway in the current folder', async () => {
    await whileStarted(async (url) => {
      const call = await callerFor(url);
      const response = await call('/hello/world');
      expect({ status: response.status, text: response.text }).toEqual({ status: 200, text: '{"hello":"world"}' });
      expect(response.headers['x-execution-id']).toBeDefined();
      expect(await run(gateway, 'npx', 'service-router', 'plan')).toContain('no changes; 1 unchanged');
    });
    expect(await run(gateway, 'npx', 'service-router', 'check')).toContain('ok  definitions         1 workflow');
    expect(await run(gateway, 'npx', 'service-router', 'routes')).toContain('/hello/:name');
  });

  it('with the worker, policy and test from the how-to, npm test and the type check pass', async () => {
    followTheHowTo();
    const printed = await run(gateway, 'npm', 'test');
    expect(printed).toMatch(/^. pass 3$/m);
    const compiler = join(rootDir, 'node_modules/@typescript/native/bin/tsc');
    expect(await run(gateway, process.execPath, compiler, '-p', '.')).toBe('');
  });

  it('the type check fails when a worker of the gateway returns something other than a response', async () => {
    const file = join(gateway, 'workers/count.ts');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('status: 200', "status: 'fine'"));
    const compiler = join(rootDir, 'node_modules/@typescript/native/bin/tsc');
    await expect(run(gateway, process.execPath, compiler, '-p', '.')).rejects.toThrow(/count\.ts.*error TS2322/s);
    writeFileSync(file, text);
  });

  it("add-route in the gateway's folder refuses a name that is taken and adds a route that check accepts", async () => {
    const addRoute = (name: string) =>
      run(
        gateway,
        'npx',
        'service-router',
        'add-route',
        name,
        '--path',
        '/a/:id',
        '--methods',
        'GET',
        '--url',
        'http://a',
      );
    await expect(addRoute('count')).rejects.toThrow(/the name count is already used by the apiEndpoint/);
    const before = ownFiles();
    expect(await addRoute('catalog')).toContain(
      'Undo: remove what was added to gateway.config.yml and config/default.properties, and delete ',
    );
    expect(await run(gateway, 'npx', 'service-router', 'check')).toContain('ok  definitions');
    for (const file of Object.keys(ownFiles())) if (before[file] === undefined) rmSync(file);
    for (const [file, text] of Object.entries(before)) writeFileSync(file, text);
  });

  it('installs none of the packages that the product stubs out, even after npm update and npm ci', async () => {
    const { overrides } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as {
      overrides: Record<string, Record<string, string>>;
    };
    const stubbed = Object.values(overrides).flatMap((of) =>
      Object.entries(of).flatMap(([name, to]) => (to.startsWith('file:') ? [name] : [])),
    );
    expect(stubbed.length).toBeGreaterThan(15);
    const installed = () =>
      globSync(`node_modules/**/node_modules/{${stubbed.join(',')}}/package.json`, { cwd: gateway })
        .concat(globSync(`node_modules/{${stubbed.join(',')}}/package.json`, { cwd: gateway }))
        .map((file) => JSON.parse(readFileSync(join(gateway, file), 'utf8')) as { name: string; version: string })
        .filter(({ version }) => version !== '0.0.0')
        .map(({ name }) => name);
    expect(installed()).toEqual([]);
    await run(gateway, 'npm', 'update');
    expect(installed()).toEqual([]);
    await run(gateway, 'npm', 'ci');
    expect(installed()).toEqual([]);
    // `npm ls` exits with 1 when a package is missing or has an invalid version.
    await run(gateway, 'npm', 'ls', '--all');
  });

  it("an upgrade changes none of the gateway's own files", async () => {
    const before = ownFiles();
    await run(dir, 'tar', '-xzf', tarball);
    const file = join(dir, 'package/package.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"version": "0.1.0"', '"version": "0.1.1"'));
    await run(dir, 'tar', '-czf', 'service-router-0.1.1.tgz', 'package');
    await run(gateway, 'npm', 'install', '../service-router-0.1.1.tgz');
    expect(await run(gateway, 'npx', 'service-router', '--version')).toBe('0.1.1\n');
    expect(ownFiles()).toEqual(before);
    expect(await run(gateway, 'npx', 'service-router', 'check')).toContain('ok  gateway.config.yml');
  });
});
