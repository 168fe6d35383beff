// Tests of what commands have in common: help, options, and errors in arguments, definitions, the engine or the router.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import type { Command } from 'commander';
import { commandsOf } from '../../cli/command-tree.ts';
import { createProgram } from '../../cli/program.ts';
import { rootDir } from '../../cli/gateway/gateway-folder.ts';
import { helpOf } from '../../tools/reference/cli.ts';
import { runCli } from './run-cli.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Starts a router that sends the same response to every request. */
async function startRouterThatAnswers(status: number, body: unknown): Promise<string> {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the command line', () => {
  it('no command: the list of commands on stderr, exit 1', async () => {
    const { exitCode, stderr } = await runCli([]);
    expect(exitCode).toBe(1);
    for (const command of ['check', 'status', 'plan', 'apply', 'dump', 'register', 'routes'])
      expect(stderr).toContain(`\n  ${command} `);
  });

  it.each(['--version', '-V'])('%s: the version of the package, exit 0', async (option) => {
    const { version } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as { version: string };
    expect(await runCli([option])).toMatchObject({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('the program has the same name in every usage line and every example', async () => {
    for (const { command } of commandsOf(createProgram())) {
      const help = helpOf(command);
      expect(help).toMatch(/^Usage: service-router\b/);
      expect(help.split('\n').filter((line) => /^ {2}router\b/.test(line))).toEqual([]);
    }
  });

  it('every command with --yes has --dry-run, with the same meaning', () => {
    const asking = commandsOf(createProgram()).filter(({ command }) =>
      command.options.some(({ long }) => long === '--yes'),
    );
    expect(asking.map(({ words }) => words.at(-1))).toEqual(
      expect.arrayContaining(['apply', 'retry', 'terminate', 'cancel', 'reconcile', 'prune']),
    );
    const describeOption = (command: Command, name: string) =>
      command.options.find(({ long }) => long === name)?.description;
    for (const { command } of asking) {
      expect(describeOption(command, '--yes')).toMatch(/^do not ask;/);
      expect(describeOption(command, '--dry-run')).toMatch(/^only show/);
    }
  });

  it('every command that reads a gateway has --dir, and refuses a folder that does not exist', async () => {
    const leaves = commandsOf(createProgram()).filter(({ command }) => command.commands.length === 0);
    const withDir = leaves.filter(({ command }) => command.options.some(({ long }) => long === '--dir'));
    const others = leaves.filter((leaf) => !withDir.includes(leaf)).map(({ words }) => words.join(' '));
    expect(others.toSorted()).toEqual(['completion', 'init', 'start', 'test']);
    // `dump` writes to its folder, so the folder does not have to exist.
    for (const { command, words } of withDir.filter(({ words: [name] }) => name !== 'dump')) {
      const required = command.options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long ?? '', '/a']);
      const ids = command.registeredArguments.map(() => '00000000-0000-0000-0000-000000000000');
      const name = words[0]?.startsWith('add-') === true ? ['003'] : ids;
      const { exitCode, stderr } = await runCli([...words, ...name, ...required, '--dir', '/nowhere']);
      expect({ words, exitCode, stderr }).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('--dir: there is no folder /nowhere'),
      });
    }
  });

  it.each(['check', 'plan', 'routes'])(
    '%s --help: options, examples and the meaning of each exit code, exit 0',
    async (command) => {
      const { exitCode, stdout } = await runCli([command, '--help']);
      expect(exitCode).toBe(0);
      expect(stdout).toContain(`Usage: service-router ${command} [options]`);
      expect(stdout).toContain('--json');
      expect(stdout).toMatch(new RegExp(`Examples:\n  # .+\n  service-router ${command}`));
      expect(stdout).toMatch(/Exit codes:\n {2}0 {2}.+\n {2}1 {2}.+/);
    },
  );

  it.each([
    [['deploy'], "unknown command 'deploy'"],
    [['check', '--fast'], "unknown option '--fast'"],
    [['plan', '--dry'], "unknown option '--dry'"],
    [['apply', 'everything'], 'too many arguments'],
    [['dump', '--only'], "option '--only <pattern>' argument missing"],
    [['routes', '--engine', 'x'], "unknown option '--engine'"],
    [['start', '--json'], "unknown option '--json'"],
    [['register', '--engine'], "option '--engine <url>' argument missing"],
  ])('%j: refused with a line that says why, exit 1', async (args, reason) => {
    const { exitCode, stderr } = await runCli(args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(reason);
  });
});

it.each(['prune', 'executions retry x', 'executions terminate x', 'executions cancel x'])(
  'service-router %s: has no option --router, because the router does not forward the calls of this command',
  async (words) => {
    const { exitCode, stderr } = await runCli([...words.split(' '), '--router', 'http://127.0.0.1:1']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: unknown option '--router'/);
  },
);

describe.each(['register', 'status', 'plan', 'apply', 'dump'])('service-router %s', (command) => {
  it('no engine at the address: one line that names it, exit 1', async () => {
    const { exitCode, stdout, stderr } = await runCli([command, '--engine', 'http://127.0.0.1:1']);
    expect(exitCode).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:1 does not respond: GET \/api\/\S+: ECONNREFUSED\n$/);
  });

  it('no address given: uses the address in the configuration', async () => {
    const { exitCode, stderr } = await runCli([command], { CONDUCTOR_URL: 'http://127.0.0.1:2' });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:2 does not respond/);
  });

  it('several addresses without an engine: one line that names them, exit 1', async () => {
    const engines = 'http://127.0.0.1:1,http://127.0.0.1:2';
    const { exitCode, stderr } = await runCli([command, '--engine', engines]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:1,http:\/\/127\.0\.0\.1:2 does not respond: .*ECONNREFUSED\n$/);
  });

  it.each([
    ['addresses below different paths', ['--engine', 'http://a/x,http://b'], 'must have the same path'],
    ['an address that is not a URL', ['--engine', 'localhost:8080'], 'localhost:8080 is not an http or https URL'],
    ['--engine with --router', ['--engine', 'http://a', '--router', 'http://b'], 'use --engine or --router, not both'],
    ['a router without a client', ['--router', 'http://127.0.0.1:1'], '--router needs a client'],
  ])('%s: one line, exit 1', async (_what, args, reason) => {
    const { exitCode, stderr } = await runCli([command, ...args]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(reason);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('a router that does not know the client: says so without the secret, exit 1', async () => {
    const router = await startRouterThatAnswers(401, { error: 'invalid_client' });
    const env = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'do-not-show' };
    const { exitCode, stderr } = await runCli([command, '--router', router], env);
    expect(exitCode).toBe(1);
    expect(stderr).toBe('the router issued no token to client "ops": 401 invalid_client\n');
  });

  it('--json and an error: the reason in the document, exit 1', async () => {
    const result = await runCli([command, '--json', '--engine', 'http://127.0.0.1:1']);
    expect(result.exitCode).toBe(1);
    expect(result.json()).toEqual({ ok: false, problems: [expect.stringContaining('does not respond')] });
  });

  if (command !== 'dump')
    it('a broken definition file: refused before anything is sent, exit 1', async () => {
      const copy = copyOfProduct();
      const engine = await startFakeEngine();
      copy.write('event-handlers/mdm.json', '{');
      const { exitCode, stderr } = await runCli([command, '--dir', copy.dir, '--engine', engine.url]);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^event-handlers\/mdm\.json:1:2: /);
      expect(engine.writes).toEqual([]);
      copy.dispose();
      await engine.stop();
    });
});

it.each(['plan', 'apply', 'dump'])(
  'service-router %s, an address that is not that of an engine: says so, exit 1',
  async (command) => {
    server = createServer((_request, response) => response.end('<html>'));
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { exitCode, stderr } = await runCli([command, '--engine', url]);
    expect(exitCode).toBe(1);
    expect(stderr).toBe('the response is not JSON: is this address a Conductor server?\n');
  },
);

describe.each(['status', 'workers'])('service-router %s --stale-after', (command) => {
  it('takes a duration, or a bare number of seconds', async () => {
    for (const duration of ['90', '0.5', '500ms', '30s', '5m']) {
      const { stderr } = await runCli([command, '--stale-after', duration, '--engine', 'http://127.0.0.1:1']);
      expect(stderr, duration).toContain('does not respond');
    }
  });

  it('refuses anything else with an example, exit 1', async () => {
    const { exitCode, stderr } = await runCli([command, '--stale-after', 'soon']);
    expect(exitCode).toBe(1);
    expect(stderr).toBe('--stale-after must be a duration such as 500ms, 90s, 15m, 2h or 30d, not soon\n');
  });
});
