// Tests of run.mjs, which installs dependencies if needed and then runs an entry file.

import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { isAlive } from '../process-alive.ts';
import { Project, type Run } from './project.ts';

let project: Project;

beforeEach(() => {
  project = new Project();
});
afterEach(() => project.remove());

describe('dependencies', () => {
  it('are installed when there are none, and then the entry runs with its arguments', async () => {
    const run = project.run('register', '--json');
    expect(await run.ended).toEqual({ code: 0, signal: null });
    expect(run.printed.text).toBe(
      'Installing dependencies (1 packages, about 0.5 GB on disk, once for each version of package-lock.json).\nran register --json\n',
    );
    expect(project.npmRuns()).toEqual([
      'ci --include=dev --include=optional --ignore-scripts --no-audit --no-fund --loglevel=http',
    ]);
  });

  it('are not installed again when they match the lock file', async () => {
    await project.run().ended;
    const second = project.run();
    await second.ended;
    expect(project.npmRuns()).toHaveLength(1);
    expect(second.printed.text).toBe('ran \n');
  });

  it('are installed again when the lock file names another version', async () => {
    await project.run().ended;
    project.lock({ leftpad: '1.0.1' });
    await project.run().ended;
    expect(project.npmRuns()).toHaveLength(2);
  });

  it('are installed when the pinned Node is missing, even though it is optional', async () => {
    const name = `node_modules/node-${process.platform}-${process.arch}`;
    const lock = { packages: { '': {}, [name]: { version: '24.0.0', optional: true } } };
    await project.run().ended;
    writeFileSync(join(project.root, 'package-lock.json'), JSON.stringify(lock));
    await project.run().ended;
    expect(project.npmRuns()).toHaveLength(2);
  });

  describe('that `npm ci --omit=dev --omit=optional` has installed', () => {
    const locked = {
      '': {},
      'node_modules/leftpad': { version: '1.0.0' },
      'node_modules/oxlint': { version: '1.0.0', dev: true },
      [`node_modules/node-${process.platform}-${process.arch}`]: { version: '24.0.0', optional: true },
    };
    const writeLock = (file: string, packages: object) =>
      writeFileSync(join(project.root, file), JSON.stringify({ packages }));
    beforeEach(() => {
      project.install();
      writeLock('package-lock.json', locked);
      writeLock('node_modules/.package-lock.json', { 'node_modules/leftpad': locked['node_modules/leftpad'] });
    });

    it('are kept when the CLI runs on a new enough Node', async () => {
      const run = project.cli();
      expect(await run.ended).toEqual({ code: 0, signal: null });
      expect(project.npmRuns()).toEqual([]);
    });

    it('are replaced for the CLI when a package that it needs has another version', async () => {
      writeLock('package-lock.json', { ...locked, 'node_modules/leftpad': { version: '1.0.1' } });
      await project.cli().ended;
      expect(project.npmRuns()).toHaveLength(1);
    });

    it('are replaced for a program that needs development packages', async () => {
      await project.run().ended;
      expect(project.npmRuns()).toHaveLength(1);
    });
  });

  it('are installed once by two starts at the same time', async () => {
    project.npm('sleep 1');
    const runs = [project.run(), project.run()];
    for (const run of runs) expect(await run.ended).toEqual({ code: 0, signal: null });
    expect(project.npmRuns()).toHaveLength(1);
    expect(runs.map(({ printed }) => printed.text).join('')).toMatch(/Another process \(\d+\) is installing/);
  });

  it('are installed even when an earlier start was killed during the installation', async () => {
    const pidFile = join(project.root, 'npm-pid');
    project.npm(`echo $$ > ${pidFile}; exec sleep 60`);
    const first = project.run();
    await pollUntil('npm to run', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'));
    first.process.kill('SIGKILL');
    const pid = Number(readFileSync(pidFile, 'utf8'));
    await pollUntil('npm to end as well', () => !isAlive(pid));
    project.npm('');
    expect(await project.run().ended).toEqual({ code: 0, signal: null });
    expect(project.npmRuns()).toHaveLength(2);
  });

  it('are installed by an npm that gets every variable, even if its name is not an identifier', async () => {
    const name = 'npm_config_//registry.example/:_authToken';
    const npm = join(project.root, 'npm.js');
    writeFileSync(npm, `console.error(process.env[${JSON.stringify(name)}]); process.exit(1);`);
    const run = project.start({ npm_execpath: npm, [name]: 'a-token' }, '--help');
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.printed.text).toContain('npm ci failed:\na-token\n');
  });

  it('cannot be installed without npm, and the start says so', async () => {
    const run = project.start({ PATH: join(project.root, 'nowhere') }, '--help');
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.printed.text).toContain('npm is not in PATH: install Node.js with npm.\n');
  });

  it('that cannot be installed make the start fail with the output of npm', async () => {
    project.npm(`echo 'npm http fetch GET 200'; echo 'npm error code E404' >&2; exit 1`);
    const run = project.run();
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.printed.text).toContain('npm ci failed:\nnpm error code E404\n');
    expect(run.printed.text).not.toContain('fetch GET');
  });
});

describe('npm start on a taken port', () => {
  let server: Server;
  let port: string;
  /** 0 means any free port. Each test sets one of these to the taken port. */
  const ports = { ROUTER_PORT: '0', OPS_PORT: '0', CONDUCTOR_PORT: '0', IDP_PORT: '0', BACKENDS_PORT: '0' };

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = String((server.address() as AddressInfo).port);
  });
  afterEach(() => void server.close());

  it('names the port before anything is installed', async () => {
    const run = project.start({ ...ports, OPS_PORT: port });
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.printed.text).toBe(`Port ${port} (operations server) is taken: set OPS_PORT to another one.\n`);
    expect(project.npmRuns()).toEqual([]);
  });

  it.each([
    ['--help is given', {}, ['--help']],
    ['the engine runs elsewhere', { CONDUCTOR_URL: 'http://engine.example' }, []],
  ])('installs despite the taken port when %s', async (_reason, env, args) => {
    const run = project.start({ ...ports, CONDUCTOR_PORT: port, ...env }, ...args);
    expect((await run.ended).code).toBe(0);
    expect(project.npmRuns()).toHaveLength(1);
  });
});

describe('an entry', () => {
  beforeEach(() => project.install());

  it('passes its exit code on', async () => {
    project.entry('process.exit(42);');
    expect(await project.run().ended).toEqual({ code: 42, signal: null });
  });

  it.each(['run #1 ', 'run%20', 'run?x=', 'run%'])('runs in a folder whose name begins with "%s"', async (prefix) => {
    const elsewhere = new Project(prefix);
    try {
      elsewhere.install();
      const run = elsewhere.run('a#b');
      expect(await run.ended).toEqual({ code: 0, signal: null });
      expect(run.printed.text).toBe('ran a#b\n');
    } finally {
      await elsewhere.remove();
    }
  });

  it('uses a Node compile cache in node_modules', async () => {
    project.entry('console.log(process.env.NODE_COMPILE_CACHE);');
    const run = project.run();
    await run.ended;
    expect(run.printed.text).toBe(`${join(project.root, 'node_modules/.cache/node-compile')}\n`);
  });

  it('runs without the compile cache while coverage is measured', async () => {
    project.entry('console.log(process.env.NODE_COMPILE_CACHE);');
    const run = project.start({ NODE_V8_COVERAGE: join(project.root, 'coverage') }, '--help');
    await run.ended;
    expect(run.printed.text).toBe('undefined\n');
  });

  it('that is ended by a signal makes run.mjs end by the same signal', async () => {
    project.entry(`process.kill(process.pid, 'SIGKILL');`);
    expect(await project.run().ended).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('that imports a missing file fails with the name of the file', async () => {
    project.entry(`import './nowhere.mjs';`);
    const run = project.run();
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.printed.text).toContain('nowhere.mjs');
  });

  /** An entry that prints each signal it receives, and ends a moment after the first one. */
  const listening = `
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.on(signal, () => { console.log('got', signal); setTimeout(() => process.exit(7), 400); });
    }
    setInterval(() => {}, 60_000);
    console.log('pid', process.pid);
  `;

  async function startListening(): Promise<{ run: Run; pid: number }> {
    project.entry(listening);
    const run = project.run();
    await pollUntil('the entry to run', () => /pid \d+\n/.test(run.printed.text));
    return { run, pid: Number(/pid (\d+)/.exec(run.printed.text)?.[1]) };
  }

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('gets %s exactly once', async (signal) => {
    const { run } = await startListening();
    run.process.kill(signal);
    expect(await run.ended).toEqual({ code: 7, signal: null });
    expect(run.printed.text.match(/got/g)).toHaveLength(1);
    expect(run.printed.text).toContain(`got ${signal}`);
  });

  it('gets SIGINT once when a Ctrl-C arrives both from the terminal and from npm', async () => {
    const { run } = await startListening();
    run.process.kill('SIGINT');
    await pollUntil('the entry to get SIGINT', () => run.printed.text.includes('got SIGINT'));
    run.process.kill('SIGINT');
    await run.ended;
    expect(run.printed.text.match(/got/g)).toHaveLength(1);
  });

  it('ends when run.mjs is killed', async () => {
    const { run, pid } = await startListening();
    run.process.kill('SIGKILL');
    await pollUntil('the entry to end', () => !isAlive(pid));
  });

  it('and the processes in its group end when run.mjs is killed', async () => {
    project.entry(`
      import { spawn } from 'node:child_process';
      const child = spawn('/bin/sleep', ['60']);
      console.log('pid', child.pid);
    `);
    const run = project.run();
    await pollUntil('the entry to run', () => /pid \d+\n/.test(run.printed.text));
    const pid = Number(/pid (\d+)/.exec(run.printed.text)?.[1]);
    run.process.kill('SIGKILL');
    await pollUntil('the child of the entry to end', () => !isAlive(pid));
  });
});
