// Tests of `add-college` on a copy of the product: the files that it writes, and the input that it rejects.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type FakeEngine, startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { requires } from '../run/requirements.ts';
import { commitAll } from './commit-all.ts';
import { runCli } from './run-cli.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const url = 'http://adaptor.internal:8080/sis';
const properties = () => readFileSync(join(copy.dir, 'config/default.properties'), 'utf8');
const add = (mis: string, ...options: string[]) => runCli(['add-college', mis, ...options, '--dir', copy.dir]);

describe('add-college', () => {
  it('writes the address and task domain after those of other colleges, and check passes', async () => {
    const before = properties();
    const { exitCode, stdout } = await add('003', '--url', url);
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^changed {2}config\/default\.properties\n/),
    });
    const last = 'adaptor.002.domain=002\n';
    expect(properties()).toBe(before.replace(last, `${last}adaptor.003.url=${url}\nadaptor.003.domain=003\n`));
    expect((await runCli(['check', '--dir', copy.dir])).exitCode).toBe(0);
  });

  it('reports, as JSON, the path of requests, the college and its event handler', async () => {
    const { json } = await add('X7', '--url', url, '--domain', 'campus-b', '--json');
    expect(json()).toEqual({
      ...{ ok: true, changed: ['config/default.properties'], path: '/adaptor/X7/*' },
      college: { mis: 'X7', url, domain: 'campus-b' },
      eventHandlers: ['mdm-share-X7'],
    });
  });

  it('shows the address of the adaptor only for routes to adaptors, not for those to plain back ends', async () => {
    await addPlainRoute();
    const { stdout } = await add('003', '--url', url);
    expect(stdout).toContain(
      `requests  /adaptor/003/* → ${url}\n          /library/003/* → the workers below, which have the address in backEnd.library.url\nworkers `,
    );
    expect((await add('004', '--url', url, '--json')).json()).toMatchObject({ path: '/adaptor/004/*' });
  });

  it('shows no address of an adaptor when routes lead only to plain back ends', async () => {
    await addPlainRoute();
    copy.replace('gateway.config.yml', 'domainOf: mis #', '#');
    const { stdout } = await add('003', '--url', url);
    expect(stdout).toContain(
      'requests  /library/003/* → the workers below, which have the address in backEnd.library.url\nworkers ',
    );
    expect(stdout).not.toContain(url);
    expect(stdout).toContain('run workers beside the back end\n');
  });

  it('suggests git for undoing the change only when git would undo nothing else', requires('git'), async () => {
    const byHand = 'Undo: remove what was added to config/default.properties';
    expect((await add('003', '--url', url)).stdout).toContain(byHand);
    execFileSync('git', ['-C', copy.dir, 'init'], { stdio: 'pipe' });
    expect((await add('004', '--url', url)).stdout).toContain(byHand);
    commitAll(copy.dir);
    const folder = relative('.', copy.dir);
    const undo = `git -C ${folder} checkout config/default.properties`;
    expect((await add('005', '--url', url)).stdout).toContain(`Undo: ${undo}`);
    expect((await add('006', '--url', url)).stdout).toContain(byHand);
  });

  it('changes nothing when the college already exists with the same values', async () => {
    await add('003', '--url', url);
    const before = properties();
    const { json, exitCode } = await add('003', '--url', url, '--json');
    expect({ exitCode, ...json() }).toMatchObject({ exitCode: 0, changed: [] });
    expect(properties()).toBe(before);
  });

  it.each([
    [
      'a college with another address',
      ['002', '--url', url],
      /^the college 002 already exists with other values; change or remove these/,
    ],
    ['an invalid MIS code', ['0/3', '--url', url], /^"0\/3" is not an MIS code: use 1 to 8 letters and digits/],
    ['an address without http', ['003', '--url', 'adaptor:80'], /^--url must be a URL with http or https/],
    ['an address with a password', ['003', '--url', 'http://a:hidden@b'], /^--url contains credentials/],
    ['an invalid domain', ['003', '--url', url, '--domain', 'a b'], /^--domain must have 1 to 64 characters: letters/],
    ['the default pool', ['003', '--url', url, '--domain', 'NO_DOMAIN'], /^--domain must not be NO_DOMAIN/],
    [
      'a queue that no worker polls',
      ['003', '--url', url, '--domain', 'direct-dispatch.b'],
      /^--domain must not be "direct-dispatch"/,
    ],
    [
      'the queue of direct dispatch',
      ['003', '--url', url, '--domain', 'direct-dispatch'],
      /^--domain must not be "direct-dispatch"/,
    ],
  ])('refuses %s, says why, and changes nothing', async (_what, [mis = '', ...options], why) => {
    const before = properties();
    const { exitCode, stderr } = await add(mis, ...options);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(why);
    expect(stderr).not.toContain('hidden');
    expect(properties()).toBe(before);
  });

  it('rejects a folder that already has problems', async () => {
    copy.write('event-handlers/mdm.json', '{');
    const { exitCode, stderr } = await add('003', '--url', url);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^event-handlers\/mdm\.json:1:2: [^]*nothing was added: the gateway already had these problems/,
      ),
    });
  });

  it('restores the file when the change causes a problem', async () => {
    copy.write('event-handlers/mdm-share-003.json', JSON.stringify(await ownHandler()));
    const before = properties();
    const { exitCode, stderr } = await add('003', '--url', url, '--domain', 'campus-b');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^event-handlers\/mdm-share-003\.json:.*must be {"mdm_share":"campus-b"}[^]*nothing was added$/m,
    );
    expect(properties()).toBe(before);
  });

  it('refuses a gateway without a route to colleges', async () => {
    copy.replace('gateway.config.yml', '              domainOf: mis', '              #');
    const { exitCode, stderr } = await add('003', '--url', url);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^no route of this gateway leads to college adaptors/);
  });
});

/** Adds a route to a plain back end at each college, before the route to the adaptors. */
async function addPlainRoute(): Promise<void> {
  const options = ['--path', '/library/:mis/*', '--methods', 'GET', '--url', 'http://127.0.0.1:8099'];
  expect(await runCli(['add-route', 'library', ...options, '--dir', copy.dir])).toMatchObject({ exitCode: 0 });
  copy.replace('gateway.config.yml', 'name: libraryWF', 'domainOf: mis, name: libraryWF');
}

/** Returns the handler that the template yields for college 003, as the content of a file of its own. */
async function ownHandler(): Promise<object> {
  const template = readFileSync(join(copy.dir, 'event-handlers/mdm-share-{mis}.json'), 'utf8');
  return JSON.parse(
    template
      .replaceAll('{domain}', '003')
      .replaceAll('"mdm-share-{mis}"', '"mdm-share-003"')
      .replaceAll('mdm_share_{mis}', 'mdm_share_003'),
  ) as object;
}

describe('what apply changes in the engine', () => {
  let engine: FakeEngine;
  beforeEach(async () => {
    engine = await startFakeEngine();
  });
  afterEach(() => engine.stop());

  it('is only the event handler of the college', async () => {
    const apply = () => runCli(['apply', '--yes', '--engine', engine.url, '--dir', copy.dir]);
    await apply();
    const known = engine.eventHandlers.length;
    await add('003', '--url', url);
    expect((await apply()).stdout).toContain('1 change made');
    expect(engine.eventHandlers).toHaveLength(known + 1);
    expect(engine.eventHandlers.find(({ name }) => name === 'mdm-share-003')).toMatchObject({
      event: 'conductor:mdmWF:mdm_share_003',
      active: true,
    });
  });
});
