// Tests that every fenced block of the README, the tutorials and the how-tos is run, compared or checked by a test, or
// says why not.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getProperties } from 'properties-file';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '#lib/config/load.ts';
import { runCheck } from '../../cli/commands/check.ts';
import { compose, textOf } from '../deploy/deployment-files.ts';
import { copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { requires } from '../run/requirements.ts';
import { rootDir } from './pages.ts';
import { withSample } from './samples/gateway-sample.ts';
import { isRun, readSamples, type Sample, samplePages, samplesOf } from './samples/samples.ts';

const all = [...samplePages.firstSteps, ...samplePages.others].flatMap(readSamples);
const dir = mkdtempSync(join(tmpdir(), 'service-router-samples-'));
afterAll(() => rmSync(dir, { recursive: true }));

const isMarked = ({ marks }: Sample) => marks.notChecked !== undefined || marks.checkedBy !== undefined;
const settings = (language: string) =>
  all
    .filter((sample) => sample.language === language && sample.role === 'settings' && !isMarked(sample))
    .map((sample) => [`${sample.page}:${sample.line}`, sample.text] as const);

/** Returns the problems with the marks of a sample. */
function problemsOf(sample: Sample): string[] {
  const { marks, role, text, language } = sample;
  const test = marks.checkedBy;
  const isUnnamed = test !== undefined && !(existsSync(join(rootDir, test)) && readTest(test).includes(sample.page));
  const forRuns = [marks.inBackground, marks.afterRestart, marks.untilShown, marks.exitCode];
  const problems: [boolean, string][] = [
    [sample.unknown.length > 0, `unknown mark: ${sample.unknown.join(', ')}`],
    [language === 'text' && /^\$ /m.test(text), 'a command: its language is console'],
    [role === 'other' && !isMarked(sample), 'nothing checks it: say why, or name the test'],
    [role !== 'command' && marks.notRun !== undefined, 'not a command: write "not checked"'],
    [role === 'command' && marks.notChecked !== undefined, 'a command: write "not run"'],
    [[marks.notRun, marks.notChecked, test].filter((mark) => mark !== undefined).length > 1, 'marks that contradict'],
    [!isRun(sample) && forRuns.some((mark) => mark !== undefined), 'a mark of commands that are run'],
    [isUnnamed, `${test} does not exist, or does not name the page`],
  ];
  return problems.flatMap(([isWrong, problem]) =>
    isWrong ? [`${sample.page}:${sample.line} (${language}): ${problem}`] : [],
  );
}

const readTest = (file: string) => readFileSync(join(rootDir, file), 'utf8');

describe('marks', () => {
  it('every sample is run, compared or checked, or says why not', () => {
    expect(all.length).toBeGreaterThan(100);
    expect(all.flatMap(problemsOf)).toEqual([]);
  });

  it.each([
    ['a block that nothing checks', '```java\nx\n```\n', 'nothing checks it'],
    [
      'an output without a command in its section',
      '```bash\nx\n```\n\n## Next\n\n```text\nx\n```\n',
      'nothing checks it',
    ],
    ['a command in a text block', '```text\n$ x\n```\n', 'its language is console'],
    ['a mark that does not exist', '<!-- skip -->\n\n```bash\nx\n```\n', 'unknown mark: skip'],
    ['a mark without a reason', '<!-- not run: -->\n\n```bash\nx\n```\n', 'unknown mark: not run:'],
    [
      'a command that is marked both as not run and as run',
      '<!-- not run: y -->\n<!-- run with exit code 2 -->\n\n```sh\nx\n```\n',
      'are run',
    ],
    ['a test that does not exist', '<!-- checked by test/x.test.ts -->\n\n```sh\nx\n```\n', 'does not exist'],
    [
      'a test of another page',
      '<!-- checked by test/docs/package.test.ts -->\n\n```sh\nx\n```\n',
      'does not name the page',
    ],
  ])('%s is a problem', (_title, text, problem) => {
    expect(samplesOf({ file: 'page.md', text }).flatMap(problemsOf).join('\n')).toContain(problem);
  });
});

describe('commands that are not run', () => {
  const commands = all.filter((sample) => sample.marks.notRun !== undefined);
  const places = commands.map(({ page, line, text }) => [`${page}:${line}`, text] as const);

  it.each(places)('%s: bash can parse it', requires('bash'), (_place, text) => {
    const input = text.replaceAll(/<[\w -]+>/g, 'placeholder');
    expect(spawnSync('bash', ['-n'], { input, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  });

  it('docker compose: the services that the commands name exist', () => {
    const ofKeycloak = parse(textOf('deploy/keycloak/compose.yml')) as { services: object };
    const services = Object.keys({ ...compose.services, ...ofKeycloak.services });
    const lines = commands.flatMap(({ text }) => text.match(/(?<=^docker compose )(?:up|stop|exec|run)\b.*/gm) ?? []);
    const named = lines.flatMap((line) => {
      const [command = '', ...words] = line.split(' ');
      const names = words.filter((word) => !word.startsWith('-'));
      return ['exec', 'run'].includes(command) ? names.slice(0, 1) : names;
    });
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !services.includes(name))).toEqual([]);
  });
});

describe('settings', () => {
  const properties = settings('properties').map(([place, text]) => [place, text, getProperties(text)] as const);
  const isOfCompose = (keys: object) => Object.keys(keys).every((key) => /^[A-Z_]+$/.test(key));

  it.each(properties.filter(([, , keys]) => isOfCompose(keys)))(
    '%s: deploy/example.env has these variables',
    (_place, _text, keys) => {
      const known = readFileSync(join(rootDir, 'deploy/example.env'), 'utf8').match(/^#?\w+(?==)/gm) ?? [];
      const names = known.map((name) => name.replace('#', ''));
      expect(Object.keys(keys).filter((name) => !names.includes(name))).toEqual([]);
    },
  );

  it.each(properties.filter(([, , keys]) => !isOfCompose(keys)))(
    '%s: the configuration accepts these keys',
    async (_place, text) => {
      const file = join(dir, 'sample.properties');
      writeFileSync(file, text);
      const { warnings } = await loadConfig({ env: { CONFIG_URL: pathToFileURL(file).href } });
      expect(warnings).toEqual([]);
    },
  );

  it.each(settings('yaml'))('%s: `check` accepts the sample', async (_place, text) => {
    const copy = copyOfProduct();
    try {
      const isDescription = /^paths:$/m.test(text);
      const configuration = readFileSync(join(copy.dir, 'gateway.config.yml'), 'utf8');
      if (isDescription) copy.write('config/openapi/movies.yml', text);
      else copy.write('gateway.config.yml', withSample(configuration, text));
      expect(await runCheck({ dir: copy.dir }, { host: process })).toMatchObject({
        exitCode: 0,
        json: { problems: [] },
      });
    } finally {
      copy.dispose();
    }
  });

  it('TypeScript samples pass the type check together with the code that they import', () => {
    // The folder is the same in each run, because the compiler's cache identifies files by their paths.
    const folder = join(rootDir, '.run/samples');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, 'workers'), { recursive: true });
    const samples = settings('ts');
    for (const [index, [, text]] of samples.entries()) writeFileSync(join(folder, `workers/sample-${index}.ts`), text);
    const cache = join(rootDir, 'node_modules/.cache/types-of-samples');
    const compilerOptions = {
      ...{ rootDirs: [rootDir, folder], typeRoots: [join(rootDir, 'node_modules/@types')] },
      ...{ incremental: true, tsBuildInfoFile: cache },
    };
    const config = { extends: join(rootDir, 'tsconfig.json'), compilerOptions, include: ['workers'], exclude: [] };
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(rootDir, 'node_modules/@typescript/native/bin/tsc');
    expect(samples.length).toBeGreaterThan(1);
    const env = { ...process.env, GOGC: '400' };
    const args = [compiler, '-p', folder, '--singleThreaded'];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8', env })).toBe('');
  });
});
