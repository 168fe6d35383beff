// Tests of `add-route` in a temporary folder: the files that it writes pass `check`, and bad input changes nothing.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { format } from 'prettier';
import { getProperties } from 'properties-file';
import { loadConfig } from '#lib/config/load.ts';
import { validateGateway } from '../../gateway/configuration/validate-gateway.ts';
import { gatewayFile } from '../../cli/gateway/read-gateway.ts';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { runCli } from './run-cli.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const textOf = (file: string) => readFileSync(join(copy.dir, file), 'utf8');
const definitionOf = (file: string) => JSON.parse(textOf(file)) as Record<string, unknown>;
const allTexts = () =>
  Object.fromEntries(
    readdirSync(copy.dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'utf8')]),
  );
const example: Record<string, string> = {
  path: '/example/:course_id',
  methods: 'GET',
  url: 'http://127.0.0.1:8099/courses',
};

function addRoute(name = 'example', options: Record<string, string> = {}) {
  const given = Object.entries({ ...example, ...options }).flatMap(([option, value]) => [`--${option}`, value]);
  return runCli(['add-route', name, ...given, '--dir', copy.dir]);
}

async function openApiPaths(): Promise<Record<string, Record<string, unknown>>> {
  const { config } = await loadConfig({ env: {}, rootDir: copy.dir });
  const { gateway } = await validateGateway(gatewayFile(config, copy.dir));
  return gateway?.document.paths as Record<string, Record<string, unknown>>;
}

describe('add-route', () => {
  it('a read → definitions, route and address that pass check and Prettier, and a path in OpenAPI', async () => {
    const { exitCode, stdout, stderr } = await addRoute();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('GET  /example/:course_id  →  http://127.0.0.1:8099/courses/:course_id');
    expect(stdout).toContain(
      'Undo: remove what was added to gateway.config.yml and config/default.properties, and delete workflows/tasks/example_intake.json and workflows/exampleWF.v1.json',
    );
    const checked = await runCli(['check', '--dir', copy.dir]);
    expect(checked.stdout).toMatch(/^example_intake +example \(reads\) +20 s +22 s +25 s$/m);
    expect(getProperties(textOf('config/default.properties'))).toMatchObject({ 'backEnd.example.url': example['url'] });
    expect(Object.keys(await openApiPaths())).toContain('/example/{course_id}');
    const options = { printWidth: 120, singleQuote: true };
    for (const file of ['gateway.config.yml', 'workflows/exampleWF.v1.json', 'workflows/tasks/example_intake.json'])
      expect(await format(textOf(file), { ...options, filepath: file })).toBe(textOf(file));
  });

  it('writes the same definitions as those of the movies route, with other names', async () => {
    await addRoute();
    const rename = (file: string) => JSON.parse(textOf(file).replaceAll('movies', 'example')) as object;
    const withoutDescription = (value: object) => ({ ...value, description: '' });
    for (const [own, ours] of [
      ['workflows/moviesWF.v1.json', 'workflows/exampleWF.v1.json'],
      ['workflows/tasks/movies_intake.json', 'workflows/tasks/example_intake.json'],
    ] as const)
      expect(withoutDescription(definitionOf(ours))).toEqual(withoutDescription(rename(own)));
  });

  it('a write → a task timeout longer than a restart of the engine, and the scope for writes', async () => {
    const { exitCode, stdout } = await addRoute('samples', {
      path: '/samples,/samples/*',
      methods: 'get,post',
      'write-scope': 'samples_w',
    });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain('every client with a token may write');
    expect(definitionOf('workflows/tasks/samples_intake.json')).toMatchObject({ responseTimeoutSeconds: 90 });
    expect(textOf('gateway.config.yml')).toContain('writeScope: samples_w');
    expect(Object.keys((await openApiPaths())['/samples'] ?? {})).toEqual(expect.arrayContaining(['get', 'post']));
  });

  it('a write without a scope → a line that says who may write', async () => {
    expect((await addRoute('samples', { path: '/samples', methods: 'POST' })).stdout).toContain(
      'every client with a token may write there; use --write-scope to require a scope',
    );
  });

  it('a name and a scope that YAML could misread → a route that passes check', async () => {
    const options = { path: '/true/:id', methods: 'POST', 'write-scope': '123' };
    expect(await addRoute('true', options)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(Object.keys(await openApiPaths())).toContain('/true/{id}');
  });

  it('adds a second route after the first', async () => {
    expect((await addRoute()).exitCode).toBe(0);
    expect((await addRoute('example-units', { path: '/example-units/*' })).exitCode).toBe(0);
    expect(Object.keys(await openApiPaths())).toEqual(
      expect.arrayContaining(['/example/{course_id}', '/example-units/{path}']),
    );
  });

  it('writes --strip and --mis-codes to the route', async () => {
    await addRoute('example', { path: '/v1/example/:mis/*', strip: '/v1/example', 'mis-codes': 'mis' });
    expect(textOf('gateway.config.yml')).toMatch(/parameter: mis \} # .*\n.*- workflow:\n.*strip: \/v1\/example \}/);
  });

  it.each([
    ['an invalid name', 'Example', {}, /the name Example is not valid/],
    ['a taken name', 'movies', {}, /the name movies is already used by the apiEndpoint, the pipeline, .*movies\.url/],
    ['the name of a worker with a file of its own', 'college-adaptor', {}, /the worker of college-adaptor_intake/],
    ['a path that another route serves', 'example', { path: '/movies/:id' }, /--path: \/movies\/:id overlaps \/movies/],
    ['a path within another route', 'example', { path: '/adaptor/001/x' }, /overlaps \/adaptor\/:mis\/\* of the route/],
    ['a path without a slash', 'example', { path: 'example' }, /--path: example is not a path/],
    ['a path that begins with a parameter', 'example', { path: '/:any' }, /its first segment must be plain/],
    ['a path that OpenAPI cannot express', 'example', { path: '/a/(.*)' }, /cannot be described/],
    ['a taken path, other methods', 'example', { path: '/movies/:id', methods: 'PUT' }, /overlaps \/movies\/:title of/],
    ['one parameter twice', 'example', { path: '/a/:x/:x' }, /two parameters with the same name/],
    ['an unknown method', 'example', { methods: 'GET,FETCH' }, /--methods: FETCH is not one of GET, POST/],
    ['a URL without http', 'example', { url: 'ftp://files' }, /--url must be a URL with http or https/],
    ['a URL with a password', 'example', { url: 'http://a:b@c' }, /--url contains credentials/],
    ['a wrong prefix', 'example', { strip: '/cat' }, /--strip: \/example\/:course_id does not begin with \/cat/],
    [
      'an empty prefix',
      'example',
      { strip: '' },
      /^--strip: "" is not a path: write \/segment, without a slash at its end$/m,
    ],
    ['a prefix with a slash at its end', 'example', { strip: '/example/' }, /^--strip: "\/example\/" is not a path/m],
    ['a parameter that the path lacks', 'example', { 'mis-codes': 'mis' }, /every path needs the parameter :mis/],
  ])('%s: refused, and nothing is written', async (_title, name, options, expected) => {
    const before = allTexts();
    const { exitCode, stdout, stderr } = await addRoute(name, options);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(expected);
    expect(allTexts()).toEqual(before);
  });

  it("the name of the gateway's own worker: refused, and nothing is written", async () => {
    const task = `{ create: () => ({ taskDefName: 'count_intake' }), pools: ['default'] }`;
    copy.write('workers/index.ts', `export const workers = { count_intake: ${task} };`);
    const before = allTexts();
    expect((await addRoute('count')).stderr).toMatch(/the name count is already used by the worker of count_intake/);
    expect(allTexts()).toEqual(before);
  });

  it('several problems: all are listed at once', async () => {
    const { stderr } = await addRoute('Example', { path: 'x', methods: 'POTS', url: 'x' });
    expect(stderr.trim().split('\n')).toHaveLength(4);
  });

  it('a folder with problems: the problems are listed, and nothing is written', async () => {
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, version: 3');
    const before = allTexts();
    expect((await addRoute()).stderr).toMatch(
      /no workflow moviesWF version 3\n\nnothing was added: the gateway already had these problems/,
    );
    expect(allTexts()).toEqual(before);
  });

  it('a problem that only the finished files show: it is listed, and every file is restored', async () => {
    // Removes the policy in-flight from this gateway.
    copy.replace('gateway.config.yml', 'in-flight, ', '');
    copy.replace('gateway.config.yml', '      - in-flight: # only clients with client.<client id>.maxInFlight\n', '');
    const before = allTexts();
    expect((await addRoute()).stderr).toMatch(/policy "in-flight" is not declared under policies\n\nnothing was added/);
    expect(allTexts()).toEqual(before);
  });
});
