// Tests of `init`: the files that it writes, and the input that it rejects. test/e2e/package.test.ts runs the result.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './run-cli.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'service-router-init-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Every file of a new gateway. */
const files = [
  '.gitignore',
  'README.md',
  'config/default.properties',
  'event-handlers/README.md',
  'gateway.config.yml',
  'package.json',
  'plugins/README.md',
  'test/hello.test.ts',
  'tsconfig.json',
  'workers/README.md',
  'workflows/helloWF.v1.json',
  'workflows/tasks/README.md',
];

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
const init = (folder: string, ...options: string[]) =>
  runCli(['init', join(dir, folder), '--package', '^1.2.3', ...options]);

describe('init', () => {
  it('writes exactly these files, with the name of the folder, and check passes', async () => {
    const { exitCode, stdout } = await init('our-gateway');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${files.length} files, with service-router ^1.2.3`);
    expect(filesIn(join(dir, 'our-gateway'))).toEqual(files);
    const packageJson = JSON.parse(readFileSync(join(dir, 'our-gateway/package.json'), 'utf8')) as object;
    expect(packageJson).toMatchObject({ name: 'our-gateway', dependencies: { 'service-router': '^1.2.3' } });
    const texts = files.map((file) => readFileSync(join(dir, 'our-gateway', file), 'utf8'));
    expect(texts.filter((text) => text.includes('my-gateway'))).toEqual([]);
    expect(await runCli(['check', '--dir', join(dir, 'our-gateway')])).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('writes a README with ten lines', async () => {
    await init('our-gateway');
    expect(readFileSync(join(dir, 'our-gateway/README.md'), 'utf8').trimEnd().split('\n')).toHaveLength(10);
  });

  it('stores the path of a package file relative to the gateway', async () => {
    writeFileSync(join(dir, 'service-router.tgz'), '');
    const { exitCode, json } = await runCli([
      'init',
      join(dir, 'our-gateway'),
      '--json',
      '--package',
      join(dir, 'service-router.tgz'),
    ]);
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({ name: 'our-gateway', dependency: 'file:../service-router.tgz' });
  });

  it('quotes the path in the printed cd command', async () => {
    const { stdout } = await init('my dir/our-gateway');
    expect(stdout).toContain(`\n  cd '${join(dir, 'my dir/our-gateway')}'\n`);
  });

  it('refuses a folder that is not empty, and does not change it', async () => {
    mkdirSync(join(dir, 'our-gateway'));
    writeFileSync(join(dir, 'our-gateway/notes.txt'), 'mine');
    const { exitCode, stderr } = await init('our-gateway');
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      `${join(dir, 'our-gateway')} is not empty: name a folder that is empty or does not exist yet\n`,
    );
    expect(filesIn(join(dir, 'our-gateway'))).toEqual(['notes.txt']);
  });

  it('accepts a folder that is empty except for a Git repository', async () => {
    mkdirSync(join(dir, 'our-gateway/.git'), { recursive: true });
    expect(await init('our-gateway')).toMatchObject({ exitCode: 0 });
  });

  it.each(['Our-Gateway', 'our gateway', '-gateway', 'ünser', 'a'.repeat(101), 'service-router', 'node_modules'])(
    'refuses the name %s and writes nothing',
    async (name) => {
      const { exitCode, stderr } = await init(name);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(
        new RegExp(`^${name}: (?:the folder name may contain only lower-case letters|this name is reserved)`),
      );
      expect(existsSync(join(dir, name))).toBe(false);
    },
  );

  it('needs a folder', async () => {
    const { exitCode, stderr } = await runCli(['init']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("missing required argument 'folder'");
  });
});

describe('in a new gateway', () => {
  const folder = () => join(dir, 'our-gateway');
  const inGateway = (...args: string[]) => runCli([...args, '--dir', folder()]);
  beforeEach(async () => expect((await init('our-gateway')).exitCode).toBe(0));

  const route = ['--path', '/catalog/:id', '--methods', 'GET', '--url', 'http://127.0.0.1:8099'];

  it('add-route adds a route that `check` accepts and `routes` lists', async () => {
    expect(await inGateway('add-route', 'catalog', ...route)).toMatchObject({ exitCode: 0, stderr: '' });
    const added = ['workflows/catalogWF.v1.json', 'workflows/tasks/catalog_intake.json'];
    expect(filesIn(folder())).toEqual([...files, ...added].sort());
    expect(await inGateway('check')).toMatchObject({ exitCode: 0, stderr: '' });
    const { routes } = (await inGateway('routes', '--json')).json<{ routes: { route: string }[] }>();
    expect(routes.map((each) => each.route)).toEqual(expect.arrayContaining(['hello', 'catalog']));
  });

  it("add-route rejects the name of a built-in worker, which would take the route's tasks", async () => {
    const { exitCode, stderr } = await inGateway('add-route', 'college-adaptor', ...route);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/the worker of college-/),
    });
    expect(filesIn(folder())).toEqual(files);
  });

  it('add-college says which route is missing, and adds the college once there is one', async () => {
    const addCollege = () => inGateway('add-college', '003', '--url', 'http://127.0.0.1:8098');
    expect(await addCollege()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/the parameter `domainOf`/),
    });
    expect(await inGateway('add-route', 'adaptor', ...route, '--path', '/adaptor/:mis/*')).toMatchObject({
      exitCode: 0,
    });
    const file = join(folder(), 'gateway.config.yml');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('name: adaptorWF', 'domainOf: mis, name: adaptorWF'));
    expect(await addCollege()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('/adaptor/003/*') });
    expect(await inGateway('check')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readFileSync(join(folder(), 'config/default.properties'), 'utf8')).toContain('adaptor.003.domain=003');
  });
});
