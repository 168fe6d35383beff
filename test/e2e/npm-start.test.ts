// Tests of `npm start`: the calls of API clients that predate this router, the CLI beside the running stack, an
// identity provider that is already running, and the files that the stack writes.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { type LaunchedStack, launchStack } from '../secrets/launched-stack.ts';
import { call, callerFor, type RouterAnswer } from '../stack/client.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { audience } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

describe('with its own engine', () => {
  let stack: LaunchedStack;

  beforeAll(async () => {
    stack = await launchStack({});
  });
  afterAll(() => stack?.stop());

  async function tokenOf(client: string): Promise<string> {
    const form = { client_id: client, client_secret: `${client}-secret`, grant_type: 'client_credentials' };
    const answer = await call(`${stack.url}/token/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    expect(answer.status).toBe(200);
    return answer.json<{ access_token: string }>().access_token;
  }

  /** Sends a request as clients older than this router do: `bearer` in lower case, and a content type even for GET. */
  async function ask(path: string, { body, client = 'demo' }: { body?: object; client?: string } = {}) {
    return call(`${stack.url}${path}`, {
      method: body === undefined ? 'GET' : 'PATCH',
      headers: { authorization: `bearer ${await tokenOf(client)}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Expects a JSON list with status 200, and returns its rows. */
  function rowsOf(answer: RouterAnswer): Record<string, unknown>[] {
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
    return answer.json<Record<string, unknown>[]>();
  }

  it('POST /token/v1/token returns a bearer token', async () => {
    expect((await tokenOf('demo')).split('.')).toHaveLength(3);
  });

  it('GET /lmsDW/{college_id}/dataSync/', async () => {
    const answer = await ask('/lmsDW/001/dataSync/');
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ collegeId: '001', counts: expect.any(Object) });
  });

  describe('GET /adaptor/{mis}/terms?mis=', () => {
    it.each(['001', '002'])('returns the terms of %s', async (mis) => {
      const terms = rowsOf(await ask(`/adaptor/${mis}/terms?mis=${mis}`));
      expect(terms.length).toBeGreaterThan(0);
      for (const term of terms) expect(term).toMatchObject({ misCode: mis, sisTermId: expect.any(String) });
    });

    it('for a college other than the one in the path → 400 from the adaptor', async () => {
      const answer = await ask('/adaptor/001/terms?mis=002');
      expect([answer.status, answer.json()['code']]).toEqual([400, 'mis-mismatch']);
    });
  });

  describe('GET /adaptor/{mis}/sections?sisTermId=&sisCourseId=&mis=', () => {
    it.each([
      ['sisTermId=2026FA&sisCourseId=MATH-31&mis=001', ['2026FA/MATH-31']],
      ['sisTermId=2026SU&sisCourseId=&mis=001', ['2026SU']],
      ['sisTermId=&sisCourseId=MATH-31&mis=001', ['2026FA/MATH-31', '2026SP/MATH-31']],
    ])('%s returns only the sections that match', async (query, expected) => {
      const sections = rowsOf(await ask(`/adaptor/001/sections?${query}`));
      const found = sections.map(({ sisTermId, sisCourseId }) => `${String(sisTermId)}/${String(sisCourseId)}`).sort();
      expect(found).toHaveLength(expected.length);
      for (const [index, start] of expected.entries()) expect(found[index]).toMatch(start);
    });

    it('returns all sections of the college without a filter', async () => {
      const filtered = rowsOf(await ask('/adaptor/001/sections?sisTermId=2026FA&sisCourseId=&mis=001'));
      expect(rowsOf(await ask('/adaptor/001/sections?sisTermId=&sisCourseId=&mis=001')).length).toBeGreaterThan(
        filtered.length,
      );
    });

    it('returns no sections for an unknown term or course', async () => {
      expect(rowsOf(await ask('/adaptor/001/sections?sisTermId=1999FA&sisCourseId=MATH-31&mis=001'))).toEqual([]);
      expect(rowsOf(await ask('/adaptor/001/sections?sisTermId=2026FA&sisCourseId=NONE-1&mis=001'))).toEqual([]);
    });
  });

  describe('PATCH /adaptor/{mis}/mock/colleges/{mis}/persons/{sisPersonId}', () => {
    const person = '/adaptor/001/mock/colleges/001/persons/0318204';

    it('returns the person record when the body has a cccid and the client has the scope sisdata_W', async () => {
      const answer = await ask(person, { body: { cccid: 'SEED001' } });
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ misCode: '001', sisPersonId: '0318204', cccid: 'SEED001' });
    });

    it('returns 403 when the client lacks the scope sisdata_W', async () => {
      expect((await ask(person, { body: { cccid: 'SEED002' }, client: 'reader' })).status).toBe(403);
    });
  });

  describe('GET /movies/{title}', () => {
    it.each([
      ['Metropolis', 'Metropolis'],
      ['2001%3A%20A%20Space%20Odyssey', '2001: A Space Odyssey'],
      ['Am%C3%A9lie', 'Amélie'],
      ["What's%20Opera,%20Doc%3F", "What's Opera, Doc?"],
      ['Face%2FOff', 'Face/Off'],
    ])('%s', async (path, title) => {
      const answer = await ask(`/movies/${path}`);
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ title });
    });
  });

  const run = (...args: string[]) => runCli(args, { STATE_DIR: stack.stateDir });

  it('the CLI finds the stack by its state directory and names the stack on stderr', async () => {
    const { exitCode, stdout, stderr } = await run('plan');
    expect(stderr).toMatch(/^Using the stack started at \S+Z \(router http:\/\/127\.0\.0\.1:\d+\)\n$/);
    expect(stderr).toContain(`(router ${stack.url})`);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('no changes') });
  });

  describe('the CLI beside the stack', () => {
    it.each([
      ['status', []],
      ['workers', []],
      ['executions', ['list']],
      ['events', []],
      ['token', ['--client-id', 'demo', '--client-secret', 'demo-secret']],
      ['plan', ['--router', '--client-id', 'ops', '--client-secret', 'ops-secret']],
    ])('%s %j needs no address and exits with 0', async (command, options) => {
      const { exitCode, stdout, stderr } = await run(command, ...options);
      expect({ exitCode, stdout, stderr }).toMatchObject({
        exitCode: 0,
        stderr: expect.stringMatching(/^Using the stack .*\n$/),
      });
    });
  });

  it('the stack file contains no secret, and is removed when the stack stops', async () => {
    const stackFile = join(stack.stateDir, 'stack.json');
    expect(readFileSync(stackFile, 'utf8')).not.toMatch(/secret/i);
    expect(await stack.end()).toBe(0);
    expect(existsSync(stackFile)).toBe(false);
  });
});

describe('with an identity provider that is already running', () => {
  const providerDir = mkdtempSync(join(tmpdir(), 'service-router-provider-'));
  let provider: Program;
  let stack: LaunchedStack;

  beforeAll(async () => {
    provider = await startProgram('dev/identity-provider/main.ts', { STATE_DIR: providerDir, IDP_PORT: '0' });
    stack = await launchStack({
      CONDUCTOR_URL: engineOfRun().url,
      OAUTH_ISSUER: String(provider.ready['issuer']),
      OAUTH_AUDIENCE: audience,
      RECONCILER_INTERVALMS: '0',
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await provider?.stop();
    rmSync(providerDir, { recursive: true, force: true });
  });

  it('starts no identity provider, prints no development clients, and accepts tokens of the issuer', async () => {
    expect(readdirSync(stack.stateDir)).not.toContain('identity-provider');
    expect(readdirSync(join(stack.stateDir, 'logs'))).not.toContain('identity-provider.log');
    const printed = String(stack.written().get('the launcher'));
    expect(printed).toContain(
      `The router accepts the access tokens of ${String(provider.ready['issuer'])}, and no others.`,
    );
    expect(printed).not.toContain('demo');
    const demo = await callerFor(stack.url);
    expect((await demo('/movies/Metropolis')).status).toBe(200);
  });

  it('only its owner can read the state directory and the files in it', () => {
    const names = readdirSync(stack.stateDir, { recursive: true, encoding: 'utf8' });
    expect(names).toEqual(expect.arrayContaining(['back-ends.sqlite', 'logs/router.log']));
    const open = ['.', ...names].filter((name) => (statSync(join(stack.stateDir, name)).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });
});
