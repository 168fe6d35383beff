// Tests of `check` on the product and on changed copies: the problems that it reports, their places, and its output.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct, productDir } from '../lib/conductor/definitions/copy-of-product.ts';
import { runCli } from './run-cli.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

interface CheckJson {
  ok: boolean;
  problems: string[];
  warnings: string[];
  timeOuts: { taskType: string; route?: string; writes?: boolean }[];
  configuration: { key: string; value?: string; origin: string }[];
}

describe('service-router check', () => {
  it('the unchanged product: ok, with its parts and its timeout budget, exit 0', async () => {
    const { exitCode, stdout, stderr } = await runCli(['check']);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ok {2}configuration /m);
    expect(stdout).toMatch(/^ok {2}definitions +\d+ workflows, \d+ task types, \d+ event handlers$/m);
    expect(stdout).toMatch(/^college-adaptor_intake +adaptor \(writes\) +20 s +90 s +25 s$/m);
    expect(stdout).toMatch(/^movies_intake +movies \(reads\) +20 s +22 s +25 s$/m);
    expect(stdout).toMatch(/^mdm_share +- +20 s +60 s +-$/m);
  });

  it('several problems: each on its own line of stderr, nothing on stdout, exit 1', async () => {
    copy.replace('workflows/moviesWF.v1.json', '"movies_intake"', '"film_intake"');
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, version: 3');
    const { exitCode, stdout, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      /^workflows\/moviesWF\.v1\.json:\d+:\d+: tasks\[0\]\.name: there is no workflows\/tasks\/film_intake\.json$/m,
    );
    expect(stderr).toMatch(/^workflows\/tasks\/movies_intake\.json:2:11: name: no workflow uses this task type$/m);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\..*: there is no workflow moviesWF version 3$/m,
    );
    expect(stderr).toMatch(/\d+ problems\n$/);
  });

  it('a method to which no step of the policy "bearer" applies: an error that names it', async () => {
    copy.replace(
      'gateway.config.yml',
      'action: { writeScope: sisdata_W }',
      'condition: { name: method, methods: [GET, PUT, PATCH, DELETE] }\n            action: { writeScope: sisdata_W }',
    );
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.adaptor\..*\.condition: apiEndpoint "adaptor" accepts POST, OPTIONS without a token/m,
    );
  });

  it('a step of the policy "bearer" that never runs: an error that names it, and one that names the open methods', async () => {
    const pipeline = '    apiEndpoints: [movies]\n    policies:\n';
    const step = '      - workflow: { action: { name: moviesWF, version: 1, strip: /movies } }\n';
    copy.replace('gateway.config.yml', pipeline, `${pipeline}${step}`);
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\.policies\[1\]\.bearer: this step never runs, because the earlier step "workflow" responds/m,
    );
    expect(stderr).toMatch(/apiEndpoint "movies" accepts GET, HEAD without a token/);
  });

  it('several versions: each needs its own definition', async () => {
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, versions: { 1: 90, 2: 10 }');
    const missing = await runCli(['check', '--dir', copy.dir]);
    expect(missing.exitCode).toBe(1);
    expect(missing.stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\..*: there is no workflow moviesWF version 2\n\n1 problem$/m,
    );
  });

  it('versions whose shares sum to 0: refused, and the message says what to do', async () => {
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, versions: { 1: 0 }');
    const nothing = await runCli(['check', '--dir', copy.dir]);
    expect(nothing.exitCode).toBe(1);
    expect(nothing.stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\..*\.action: versions: the shares sum to 0, so no version would get a request: give at least one version a share above 0, such as `versions: \{ 1: 10, 2: 90 \}`\n/,
    );
    expect(nothing.stderr).toMatch(/\n1 problem\n$/);
  });

  it('two versions with the same tasks: ok, one pipeline, one row of timeouts', async () => {
    const toWorkflows = async () =>
      /pipelines?, (\d+) with a workflow/.exec((await runCli(['check', '--dir', copy.dir])).stdout);
    const before = (await toWorkflows())?.[1];
    copy.replace('gateway.config.yml', 'version: ${adaptor.workflowVersion}', 'versions: { 1: 10, 2: 90 }');
    const { exitCode, stdout, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(before).toMatch(/\d/);
    expect(stdout).toContain(`, ${before} with a workflow`);
    expect(stdout.match(/college-adaptor_intake/g)).toHaveLength(1);
  });

  it('a broken gateway.config.yml: its problems are listed together with those of the definitions', async () => {
    copy.replace('gateway.config.yml', 'apiEndpoints: [movies]', 'apiEndpoints: [films]');
    copy.replace('workflows/tasks/mdm_notify.json', '"FIXED"', '"SOMETIMES"');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^gateway\.config\.yml:\d+:\d+: .*there is no apiEndpoint "films"/m);
    expect(stderr).toMatch(/^workflows\/tasks\/mdm_notify\.json:\d+:\d+: retryLogic: must be one of FIXED/m);
  });

  it('a plugin that cannot be loaded: named with the policies that are missing because of it', async () => {
    copy.replace('gateway.config.yml', './plugins/oauth2/index.ts', './plugins/nowhere/index.ts');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: plugins\.oauth2: \.\/plugins\/nowhere\/index\.ts cannot be loaded: /m,
    );
    expect(stderr).toMatch(/^gateway\.config\.yml:\d+:\d+: policies\[1\]: no plugin provides "bearer"$/m);
  });

  it('policies that are parameters now: each problem says what to write instead', async () => {
    copy.replace('gateway.config.yml', 'mis-codes, workflow', 'mis-codes, admission, compress, workflow');
    copy.replace(
      'gateway.config.yml',
      '\nplugins:\n',
      '\nplugins:\n  compression: { package: ./plugins/compression/index.ts }\n',
    );
    copy.replace(
      'gateway.config.yml',
      '      - workflow:\n          - action:\n              name: college-adaptorWF',
      '      - admission: { action: { backEndOf: mis } }\n      - compress:\n      - workflow:\n          - action:\n              name: college-adaptorWF',
    );
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    const lines = stderr.split('\n').map((line) => line.replace(/^gateway\.config\.yml:\d+:\d+: /, ''));
    const inParameters = 'becomes admission: { backEndOf: … } in the action of "workflow"';
    expect(lines).toContainEqual(expect.stringMatching(/^plugins\.compression: .* remove this plugin$/));
    expect(lines).toContainEqual(expect.stringMatching(/^policies\[5\]: admission control .* remove "admission" here/));
    expect(lines).toContainEqual(expect.stringMatching(/^policies\[6\]: compression .* remove "compress" here/));
    expect(
      lines.filter((line) => /^pipelines\.adaptor\.policies/.test(line) && line.endsWith(inParameters)),
    ).toHaveLength(1);
    expect(lines).toContainEqual(expect.stringMatching(/^pipelines\.adaptor\.policies\[\d\]\.compress: compression/));
  });

  it('the deprecated name of a response deadline: has the same effect; refused beside the current name', async () => {
    copy.replace(
      'gateway.config.yml',
      'name: moviesWF, version: 1,',
      'name: moviesWF, version: 1, waitBudgetMs: 26000,',
    );
    const { stdout } = await runCli(['check', '--json', '--dir', copy.dir]);
    const { timeOuts } = JSON.parse(stdout) as { timeOuts: { route: string }[] };
    expect(timeOuts).toContainEqual(expect.objectContaining({ route: 'movies', responseDeadlineMs: 26_000 }));
    copy.replace('gateway.config.yml', 'waitBudgetMs: 26000,', 'waitBudgetMs: 26000, responseDeadlineMs: 26000,');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/movies.*: waitBudgetMs is the deprecated name of responseDeadlineMs: keep one of them/);
  });

  it('an invalid configuration: its problems are listed together with those of the definitions', async () => {
    copy.write('event-handlers/mdm.json', '{');
    const env = { ROUTER_PORT: 'eighty', WORKERS_CONCURRENCY: '0' };
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir], env);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^environment: router\.port must be an integer, but is "eighty"$/m);
    expect(stderr).toMatch(/^environment: workers\.concurrency /m);
    expect(stderr).toMatch(/^event-handlers\/mdm\.json:1:2: /m);
  });

  it('a configuration that lets a back end take longer than clients wait: refused', async () => {
    const { exitCode, stderr } = await runCli(['check'], { WORKERS_BACKENDTIMEOUTMS: '30000' });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /pipelines\.movies\..*: the response deadline of 25000 ms must be longer than the time that a back end may take/,
    );
    expect(stderr).toMatch(/movies_intake\.json:.*: responseTimeoutSeconds: must be at least 32 s/);
  });

  it('--config: every key with its value and origin, secrets masked', async () => {
    const env = { OPS_CLIENTSECRET: 'do-not-show', ROUTER_PORT: '9999' };
    const { exitCode, stdout } = await runCli(['check', '--config'], env);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain('do-not-show');
    expect(stdout).toMatch(/^ops\.clientSecret +\*{8} +environment$/m);
    expect(stdout).toMatch(/^router\.port +9999 +environment$/m);
    expect(stdout).toMatch(/^router\.responseDeadlineMs +25000 +default$/m);
    expect(stdout).toMatch(/^movies\.url +http:.* +config\/default\.properties$/m);
    expect(stdout).toMatch(/^oauth\.issuer +- +not set$/m);
  });

  it('the deprecated name of a key: a warning on stderr and in the JSON, and the value is used', async () => {
    const { exitCode, stderr, json } = await runCli(['check', '--json'], { ROUTER_WAITBUDGETMS: '26000' });
    const warning = 'environment: router.waitBudgetMs is deprecated: set router.responseDeadlineMs instead';
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: `warning: ${warning}\n` });
    const { warnings, timeOuts } = json<CheckJson>();
    expect(warnings).toEqual([warning]);
    expect(timeOuts).toContainEqual(expect.objectContaining({ responseDeadlineMs: 26_000, waitBudgetMs: 26_000 }));
  });

  it('--json: one document with the timeout budget and the configuration', async () => {
    const result = await runCli(['check', '--json'], { OPS_CLIENTSECRET: 'do-not-show' });
    const { ok, problems, timeOuts, configuration } = result.json<CheckJson>();
    expect({ ok, problems }).toEqual({ ok: true, problems: [] });
    expect(timeOuts).toContainEqual(
      expect.objectContaining({
        taskType: 'college-adaptor_intake',
        route: 'adaptor',
        writes: true,
        responseMs: 90_000,
      }),
    );
    expect(configuration).toContainEqual({ key: 'ops.clientSecret', value: '********', origin: 'environment' });
    expect(result.stdout).not.toContain('do-not-show');
  });

  it('--json with problems: the same lines in the document, exit 1', async () => {
    copy.write('event-handlers/mdm.json', '{');
    const result = await runCli(['check', '--json', '--dir', copy.dir]);
    expect(result.exitCode).toBe(1);
    expect(result.json<CheckJson>()).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/^event-handlers\/mdm\.json:1:2: /)],
    });
  });

  it('an empty directory: says what is missing', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'service-router-empty-'));
    const { exitCode, stderr } = await runCli(['check', '--dir', dir]);
    rmSync(dir, { recursive: true });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gateway.config.yml: there is no such file');
    expect(stderr).toContain('workflows: there is no such directory');
  });
});

describe('service-router check, OpenAPI descriptions of back ends', () => {
  it('a missing file or one that describes an unrouted path: reported at its place in the YAML, exit 1', async () => {
    copy.replace('gateway.config.yml', 'config/openapi/movies.yml', 'config/openapi/films.yml');
    copy.replace('gateway.config.yml', 'strip: /lmsDW }', 'strip: /lms }');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\..*: config\/openapi\/films\.yml cannot be read/m,
    );
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.lmsDW\..*: config\/openapi\/data-warehouse\.yml: .* does not route GET \/lms\/\{college_id\}\/dataSync$/m,
    );
  });

  it('a misspelt method, a reference to nothing and a schema name of the router: each with the file', async () => {
    const file = 'config/openapi/movies.yml';
    const original = readFileSync(join(copy.dir, file), 'utf8');
    copy.write(file, original.replace('get:', 'gte:').replaceAll("schemas/Movie'", "schemas/Missing'"));
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\..*: config\/openapi\/movies\.yml: paths\.\/\{title\}: "gte" is not /m,
    );
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.movies\..*: config\/openapi\/movies\.yml: .*: there is no #\/components\/schemas\/Missing in this file$/m,
    );
    copy.write(file, `${original.trimEnd()}\n    Execution: { type: number }\n`);
    const clash = await runCli(['check', '--dir', copy.dir]);
    expect(clash.exitCode).toBe(1);
    expect(clash.stderr).toMatch(/two descriptions have a schema named Execution: .*config\/openapi\/movies\.yml/);
  });
});

/** Returns the file, line and column of a string in the copy, as messages show them. */
function placeOf(file: string, text: string): string {
  const before = readFileSync(join(copy.dir, file), 'utf8').split(text, 1)[0] as string;
  return `${file}:${before.split('\n').length}:${before.length - before.lastIndexOf('\n')}`;
}

describe('service-router check, the parameters of policies', () => {
  it('reports every parameter with a wrong name or type, with its line and column', async () => {
    copy.replace('gateway.config.yml', 'writeScope: sisdata_W', 'writScope: sisdata_W');
    copy.replace('gateway.config.yml', 'parameter: mis, after', 'parameter: 7, after');
    copy.replace('gateway.config.yml', 'version: 1, strip: /movies', 'version: one, stripp: /movies');
    copy.replace('gateway.config.yml', 'serve: response', 'serve: answers, compress: true');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    const at = (text: string) => placeOf('gateway.config.yml', text);
    expect(stderr.split('\n').filter((line) => line !== '')).toEqual([
      `${at('writScope')}: pipelines.adaptor.policies[0].bearer[0].action: unknown parameter "writScope"`,
      `${at('parameter: 7')}: pipelines.adaptor.policies[3].mis-codes[0].action.parameter: must be a string`,
      `${at('action: { openapi: config/openapi/movies')}: pipelines.movies.policies[3].workflow[0].action: "strip" is missing`,
      `${at('version: one')}: pipelines.movies.policies[3].workflow[0].action.version: must be an integer`,
      `${at('stripp:')}: pipelines.movies.policies[3].workflow[0].action: unknown parameter "stripp"`,
      `${at('serve: answers')}: pipelines.execution-response.policies[2].executions[0].action.serve: must be one of status, response`,
      `${at('compress: true')}: pipelines.execution-response.policies[2].executions[0].action.compress: must be false or an object`,
      '7 problems',
    ]);
  });

  it('reports a rate of the wrong type, and the place where it is used', async () => {
    copy.replace('gateway.config.yml', 'requests: ${router.rateLimitPerSecond}', 'requests: many');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${placeOf('gateway.config.yml', 'requests: many')}: pipelines.lmsDW.policies[1]`);
    expect(stderr).toContain('action.requests: must be an integer');
  });

  it('reports the place where the text stops being valid YAML, and nothing after it', async () => {
    copy.replace('gateway.config.yml', '\npipelines:', '\npipelines: ]');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    const [first, ...others] = stderr.split('\n').filter((line) => line.startsWith('gateway.config.yml'));
    expect(first).toMatch(/^gateway\.config\.yml:\d+:12: Unexpected /);
    expect(others).toEqual([]);
  });

  it.each(['', 'host: a.example.org\n    '])(
    'reports two endpoints with the same path and method, which OpenAPI cannot describe: %j',
    async (host) => {
      copy.replace(
        'gateway.config.yml',
        'paths: /lmsDW/:college_id/dataSync',
        `${host}paths: [/lmsDW/:college_id/dataSync, /openapi.json]`,
      );
      const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('GET /openapi.json is described twice: two endpoints must not have the same path');
    },
  );
});

describe('service-router check, the paths of executions', () => {
  it('reports routes that start workflows when no endpoint serves the responses of executions', async () => {
    copy.replace('gateway.config.yml', 'serve: response', 'serve: status');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.lmsDW\..*: clients cannot find their executions: .* "executions" with serve: response\n\n1 problem\n$/,
    );
  });

  it('reports a path of executions from which the router cannot make a link', async () => {
    copy.replace('gateway.config.yml', 'paths: /executions/:id\n', 'paths: /executions/:tenant/:id\n');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /pipelines\.executions\..*: the path \/executions\/\{tenant\}\/\{id\} must have the parameter :id and no other, because it names an execution\n\n1 problem\n$/,
    );
  });
});

describe('service-router check --dir', () => {
  it('loads the plugins of the directory', async () => {
    const contract = JSON.stringify(join(productDir, 'gateway/plugin-api/plugin-api.ts'));
    copy.write('package.json', '{"type":"module"}');
    copy.write(
      'plugins/own/index.ts',
      `import { declarePolicy } from ${contract};
       const own = declarePolicy({ name: 'own', schema: { type: 'object', properties: { size: { type: 'integer' } } } });
       export const version = '1.0.0';
       export const policies = [own];
       export function init() { throw new Error('check starts nothing'); }`,
    );
    copy.replace('gateway.config.yml', '\nplugins:\n', '\nplugins:\n  own: { package: ./plugins/own/index.ts }\n');
    copy.replace('gateway.config.yml', ' problem-pages]', ' problem-pages, own]');
    copy.replace(
      'gateway.config.yml',
      '      - openapi:\n',
      '      - own: { action: { size: large } }\n      - openapi:\n',
    );
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^gateway\.config\.yml:\d+:\d+: pipelines\.openapi\.policies\[0\]\.own.*size: must be an integer\n\n1 problem\n$/,
    );
  });

  it('reads the property files of the directory', async () => {
    copy.write('config/default.properties', 'router.responseDeadlineMs=soon\n');
    copy.write('config/trial.properties', 'router.prot=1\n');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir], { PROFILE: 'trial' });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('config/default.properties: router.responseDeadlineMs must be an integer, but is "soon"');
    expect(stderr).toContain('config/trial.properties: router.prot is not a known key');
  });

  it('reads the gateway configuration that router.gatewayConfigFile names', async () => {
    copy.rename('gateway.config.yml', 'other.yml');
    copy.replace('other.yml', 'strip: /movies', 'stripp: /movies');
    const { stderr } = await runCli(['check', '--dir', copy.dir], { ROUTER_GATEWAYCONFIGFILE: 'other.yml' });
    expect(stderr).toMatch(/^other\.yml:\d+:\d+: .*unknown parameter "stripp"$/m);
  });

  it('reads the directory’s descriptions of back ends', async () => {
    copy.replace('config/openapi/movies.yml', 'paths:', 'path:');
    const { exitCode, stderr } = await runCli(['check', '--dir', copy.dir]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('config/openapi/movies.yml has no paths');
  });
});
