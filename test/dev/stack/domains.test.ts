// Tests of the task domains whose workers `npm start` starts, and of the task types that these workers serve.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readSettings } from '../../../dev/stack/options.ts';
import { programsOf } from '../../../dev/stack/programs.ts';
import { runCli } from '../../cli/run-cli.ts';
import { type CopyOfProduct, copyOfProduct } from '../../lib/conductor/definitions/copy-of-product.ts';

/** Returns `WORKERS_TASKTYPES` by `WORKERS_DOMAIN` of the workers that `npm start` starts for the gateway in `dir`. */
async function taskTypesByDomain(dir: string, env: NodeJS.ProcessEnv = {}) {
  vi.spyOn(process, 'cwd').mockReturnValue(dir);
  const programs = programsOf(await readSettings(env, { isShared: async () => true }));
  const beside = programs.flatMap(({ env: own }) => (own?.['WORKERS_DOMAIN'] === undefined ? [] : [own]));
  return Object.fromEntries(beside.map((own) => [own['WORKERS_DOMAIN'], own['WORKERS_TASKTYPES']]));
}

/** Adds a route to a plain back end. Its requests for a college go to the domain of that college. */
async function addRoute(dir: string, name: string): Promise<void> {
  const options = ['--path', `/${name}/:mis/*`, '--methods', 'GET', '--url', 'http://127.0.0.1:8099'];
  expect(await runCli(['add-route', name, ...options, '--dir', dir])).toMatchObject({ exitCode: 0 });
  const file = join(dir, 'gateway.config.yml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(`name: ${name}WF`, `domainOf: mis, name: ${name}WF`));
}

afterEach(() => vi.restoreAllMocks());

describe('in this gateway', () => {
  let copy: CopyOfProduct;
  beforeEach(() => {
    copy = copyOfProduct();
  });
  afterEach(() => copy.dispose());

  it('the domain of each college has the task types whose workers run in every domain', async () => {
    const env = { ADAPTOR_003_DOMAIN: 'campus-b', ADAPTOR_004_DOMAIN: 'campus-b' };
    const usual = 'college-adaptor_intake,mdm_share';
    expect(await taskTypesByDomain(copy.dir, env)).toEqual({ '002': usual, 'campus-b': usual });
  });

  it('WORKERS_TASKTYPES of npm start does not affect the domains', async () => {
    const env = { WORKERS_TASKTYPES: 'movies_intake' };
    expect(await taskTypesByDomain(copy.dir, env)).toEqual({ '002': 'college-adaptor_intake,mdm_share' });
  });

  it('a route with `domainOf` adds its back end', async () => {
    await addRoute(copy.dir, 'library');
    expect(await taskTypesByDomain(copy.dir)).toEqual({ '002': 'library_intake,college-adaptor_intake,mdm_share' });
  });

  it('a back end without an address is left out, because its worker is another program', async () => {
    await addRoute(copy.dir, 'library');
    copy.replace('config/default.properties', 'backEnd.library.url=', '#');
    expect(await taskTypesByDomain(copy.dir)).toEqual({ '002': 'college-adaptor_intake,mdm_share' });
  });

  it('an event handler adds the back ends whose tasks it queues in the domain', async () => {
    const handler = JSON.parse(readFileSync(join(copy.dir, 'event-handlers/mdm.json'), 'utf8')) as {
      actions: { start_workflow: object }[];
    };
    const start = (taskToDomain: object) => ({ name: 'moviesWF', version: 1, taskToDomain });
    const handlerOf = (name: string, taskToDomain: object) => {
      const [action] = handler.actions;
      const actions = [{ ...action, start_workflow: { ...action?.start_workflow, ...start(taskToDomain) } }];
      copy.write(`event-handlers/${name}.json`, JSON.stringify({ ...handler, name, actions }));
    };
    handlerOf('other', { movies_intake: '003' });
    expect(await taskTypesByDomain(copy.dir)).toEqual({ '002': 'college-adaptor_intake,mdm_share' });
    handlerOf('movies-{mis}', { movies_intake: '{domain}' });
    expect(await taskTypesByDomain(copy.dir)).toEqual({ '002': 'movies_intake,college-adaptor_intake,mdm_share' });
    copy.remove('event-handlers/movies-{mis}.json');
    handlerOf('all', { '*': '002' });
    expect(await taskTypesByDomain(copy.dir)).toEqual({ '002': 'movies_intake,college-adaptor_intake,mdm_share' });
  });
});

describe('in a new gateway', () => {
  let dir: string;
  beforeEach(async () => {
    dir = join(mkdtempSync(join(tmpdir(), 'service-router-domains-')), 'our-gateway');
    expect(await runCli(['init', dir, '--package', '^1.2.3'])).toMatchObject({ exitCode: 0 });
  });
  afterEach(() => rmSync(join(dir, '..'), { recursive: true }));

  it('a college whose route leads to a plain back end → workers that serve this back end', async () => {
    await addRoute(dir, 'adaptor');
    const url = ['--url', 'http://127.0.0.1:8098'];
    expect(await runCli(['add-college', '003', ...url, '--dir', dir])).toMatchObject({ exitCode: 0 });
    expect(await taskTypesByDomain(dir)).toEqual({ '003': 'adaptor_intake' });
  });

  it('a domain with nothing to serve → no workers', async () => {
    expect(await taskTypesByDomain(dir, { ADAPTOR_003_DOMAIN: '003' })).toEqual({});
  });
});
