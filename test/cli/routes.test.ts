// Tests of `routes`: what it shows about each route, as a table and as JSON, and when it fails with an error message.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { runCli } from './run-cli.ts';
import { twoWorkflows } from './two-workflows.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

interface RoutesJson {
  ok: boolean;
  routes: { route: string; [field: string]: unknown }[];
}

describe('service-router routes', () => {
  it('the product: a row per path, with methods, scope, workflow, wait, task types, bulkhead and limits', async () => {
    const { exitCode, stdout, stderr } = await runCli(['routes']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows[0]).toEqual([
      ...['route', 'methods', 'path', 'scope', 'workflow', 'wait', 'task types', 'bulkhead', 'limits'],
    ]);
    expect(rows).toContainEqual([
      ...['movies', 'GET', '/movies/:title', 'any token', 'moviesWF v1', '25 s', 'movies_intake', 'movies'],
      '1000/s per client, body 256 KiB, response 8 MiB',
    ]);
    expect(rows).toContainEqual([
      ...['adaptor', 'any', '/adaptor/:mis', 'for writes: sisdata_W', 'college-adaptorWF v2', '25 s'],
      ...[
        'college-adaptor_intake',
        'adaptor :mis',
        '1000/s per client, :mis limited per client, body 256 KiB, response 8 MiB',
      ],
    ]);
    expect(rows).toContainEqual(['', '/adaptor/:mis/*']);
    expect(rows).toContainEqual([...['token', 'POST', '/token/v1/token', 'no token', '-', '-', '-', '-', '-']]);
    expect(stdout).toContain('conductor_worker or conductor_admin');
  });

  it('values from the configuration: shown', async () => {
    const env = {
      ADAPTOR_WORKFLOWVERSION: '1',
      ROUTER_RESPONSEDEADLINEMS: '30500',
      ROUTER_RATELIMITPERSECOND: '7',
      ROUTER_MAXBODYBYTES: '1000',
      ADAPTOR_017_DOMAIN: 'north',
    };
    const result = await runCli(['routes', '--json'], env);
    const { ok, routes } = result.json<RoutesJson>();
    expect(ok).toBe(true);
    expect(routes.find(({ route }) => route === 'adaptor')).toMatchObject({
      paths: ['/adaptor/:mis', '/adaptor/:mis/*'],
      access: { token: true, scopes: [], anyScope: [], writeScope: 'sisdata_W' },
      workflow: { name: 'college-adaptorWF', version: 1, taskTypes: ['college-adaptor_intake'] },
      responseDeadlineMs: 30_500,
      waitBudgetMs: 30_500,
      bulkhead: { name: 'adaptor :mis', domains: { '017': 'north' } },
      lane: { name: 'adaptor :mis', domains: { '017': 'north' } },
      limits: {
        rates: [{ by: 'client', requests: 7, windowSeconds: 1 }],
        inFlight: [],
        misCodes: 'mis',
        maxBodyBytes: 1_000,
        maxResponseBytes: 8_388_608,
        maxAnswerBytes: 8_388_608,
      },
    });
    const { stdout } = await runCli(['routes'], env);
    expect(stdout).toContain('30.5 s');
    expect(stdout).toContain('body 1000 bytes');
    expect(stdout).toMatch(/^adaptor: .*tasks of 017 go to domain north/m);
  });

  it('several versions: each with its share; one without a definition file is marked as missing', async () => {
    copy.replace('gateway.config.yml', 'version: ${adaptor.workflowVersion}', 'versions: { 1: 10, 2: 30 }');
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, versions: { 1: 10, 9: 90 }');
    const { stdout } = await runCli(['routes', '--dir', copy.dir]);
    expect(stdout).toContain('college-adaptorWF v1 25 %, v2 75 %');
    expect(stdout).toMatch(/moviesWF v1 10 %, v9 90 % .*no such version/);
  });

  it('several versions, --json: the shares as in gateway.config.yml, and the task types of all versions', async () => {
    copy.replace('gateway.config.yml', 'version: ${adaptor.workflowVersion}', 'versions: { 1: 10, 2: 30 }');
    const { routes } = (await runCli(['routes', '--json', '--dir', copy.dir])).json<RoutesJson>();
    expect(routes.find(({ route }) => route === 'adaptor')?.['workflow']).toEqual({
      name: 'college-adaptorWF',
      versions: { 1: 10, 2: 30 },
      taskTypes: ['college-adaptor_intake'],
    });
  });

  it('a route with two workflows: a line for each, and both in --json', async () => {
    copy.replace('gateway.config.yml', twoWorkflows.from, twoWorkflows.to);
    const { stdout } = await runCli(['routes', '--dir', copy.dir]);
    expect(stdout).toMatch(/^movies +GET +\/movies\/:title +any token +moviesWF v1 +25 s +movies_intake +movies +/m);
    expect(stdout).toMatch(/^ +lms-dwWF v1 +21 s +lms-dw_intake +movies :title *$/m);
    const { routes } = (await runCli(['routes', '--json', '--dir', copy.dir])).json<RoutesJson>();
    const movies = routes.find(({ route }) => route === 'movies');
    expect(movies).toMatchObject({ workflow: { name: 'moviesWF' }, responseDeadlineMs: 25_000 });
    expect(movies?.['workflows']).toMatchObject([
      { name: 'moviesWF', version: 1, responseDeadlineMs: 25_000, bulkhead: { name: 'movies' } },
      { name: 'lms-dwWF', version: 1, responseDeadlineMs: 21_000, taskTypes: ['lms-dw_intake'] },
    ]);
  });

  it('several steps that require tokens: the scopes and the condition of each', async () => {
    copy.replace(
      'gateway.config.yml',
      '    apiEndpoints: [movies]\n    policies:\n      - bearer:\n',
      `    apiEndpoints: [movies]
    policies:
      - bearer:
          - action: { scopes: [films] }
          - condition: { name: not, condition: { name: method, methods: [GET, HEAD] } }
            action: { anyScope: [options, ops] }
`,
    );
    const { stdout } = await runCli(['routes', '--dir', copy.dir]);
    expect(stdout).toMatch(/^movies +GET +\/movies\/:title +films +moviesWF v1 +25 s +movies_intake +movies +1000/m);
    expect(stdout).toMatch(/^ +options or ops if not \(method GET HEAD\)$/m);
    const { routes } = (await runCli(['routes', '--json', '--dir', copy.dir])).json<RoutesJson>();
    expect(routes.find(({ route }) => route === 'movies')).toMatchObject({
      access: { token: true, scopes: ['films'], anyScope: [] },
      bearer: [
        { scopes: ['films'], anyScope: [] },
        { scopes: [], anyScope: ['options', 'ops'], condition: 'not (method GET HEAD)' },
      ],
    });
  });

  it('an empty map of versions: refused with a message that says so', async () => {
    copy.replace('gateway.config.yml', 'version: ${adaptor.workflowVersion}', 'versions: {}');
    const refused = await runCli(['routes', '--dir', copy.dir]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('versions is empty')]);
  });

  it('a pipeline with its own response deadline, window, scopes, host and condition: all are shown', async () => {
    copy.replace('gateway.config.yml', 'paths: /movies/:title', 'paths: /movies/:title\n    host: films.example.org');
    copy.replace(
      'gateway.config.yml',
      'name: moviesWF, version: 1,',
      'name: moviesWF, version: 1, responseDeadlineMs: 21000,',
    );
    copy.replace(
      'gateway.config.yml',
      '    apiEndpoints: [movies]\n    policies:\n      - bearer:\n      - rate-limit:\n          - action:\n',
      '    apiEndpoints: [movies]\n    policies:\n      - bearer:\n          - action: { scopes: [films, read] }\n      - rate-limit:\n          - condition: { name: always }\n            action:\n              perSeconds: 60\n',
    );
    const { exitCode, stdout, stderr } = await runCli(['routes', '--dir', copy.dir]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^movies +GET +films\.example\.org\/movies\/:title +films and read +moviesWF v1 +21 s /m);
    expect(stdout).toContain('1000/60s per client');
    expect(stdout).toMatch(/^movies: rate-limit if always$/m);
  });

  it('a limit on the requests in flight of all callers together: shown', async () => {
    copy.replace(
      'gateway.config.yml',
      '      - in-flight: # only clients with client.<client id>.maxInFlight\n      - workflow:\n',
      '      - in-flight:\n          - action: { requests: 40, by: route }\n      - workflow:\n',
    );
    const { stdout } = await runCli(['routes', '--dir', copy.dir]);
    expect(stdout).toMatch(/^movies .* 1000\/s per client, 40 at a time in total, body/m);
  });

  it('a route to a version that does not exist: marked in its row', async () => {
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, version: 3');
    const { exitCode, stdout } = await runCli(['routes', '--dir', copy.dir]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/moviesWF v3 +25 s +no such version/);
  });

  it.each([
    ['an invalid gateway configuration', 'gateway.config.yml', /^gateway\.config\.yml:\d+:\d+: /],
    ['a broken definition', 'workflows/moviesWF.v1.json', /^workflows\/moviesWF\.v1\.json:1:\d+: /],
  ])('%s: says what is wrong, exit 1', async (_what, file, reason) => {
    copy.write(file, '{');
    const { exitCode, stdout, stderr } = await runCli(['routes', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(reason);
  });

  it('a directory without a gateway configuration: says so, exit 1', async () => {
    copy.remove('gateway.config.yml');
    const { exitCode, stderr } = await runCli(['routes', '--dir', copy.dir]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'gateway.config.yml: there is no such file\n' });
  });
});
