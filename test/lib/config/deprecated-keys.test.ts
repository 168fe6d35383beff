// Tests of deprecated and removed configuration keys: what they set, and when they cause a warning or an error.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deprecatedKeys, removedKeys } from '#lib/config/deprecated-keys.ts';
import { variableOf } from '#lib/config/environment.ts';
import { type ConfigError, loadConfig } from '#lib/config/load.ts';
import { configSchema } from '#lib/config/schema.ts';

const deprecated = 'router.waitBudgetMs';
const current = 'router.responseDeadlineMs';

let rootDir: string;
const write = (file: string, text: string) => writeFileSync(join(rootDir, file), text);

beforeAll(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'service-router-deprecated-'));
  mkdirSync(join(rootDir, 'config'));
  write('config/default.properties', '');
  write('config/laptop.properties', `${deprecated}=1001\n`);
  write('.env.dotted', `${deprecated}=1002\n`);
  write('.env.upper', `${variableOf(deprecated)}=1003\n`);
  write('remote.properties', `${deprecated}=1004\n`);
});
afterAll(() => rmSync(rootDir, { recursive: true }));

const load = (env: NodeJS.ProcessEnv) => loadConfig({ env, rootDir });
const problemsOf = (env: NodeJS.ProcessEnv) =>
  load(env).then(
    () => [],
    (error: ConfigError) => error.problems,
  );
const remote = () => ({ CONFIG_URL: pathToFileURL(join(rootDir, 'remote.properties')).href });

describe('a deprecated name', () => {
  it.each([
    ['a property file', () => ({ PROFILE: 'laptop' }), 1001],
    ['a .env profile', () => ({ PROFILE: 'dotted' }), 1002],
    ['a .env profile with upper-case names', () => ({ PROFILE: 'upper' }), 1003],
    ['CONFIG_URL', remote, 1004],
    ['an environment variable', () => ({ [variableOf(deprecated)]: '1005' }), 1005],
    ['an environment variable with dots', () => ({ [deprecated]: '1006' }), 1006],
  ])('sets the current key from %s, with one warning', async (_source, env, value) => {
    const { config, origins, warnings } = await load(env());
    expect(config[current]).toBe(value);
    expect(config).not.toHaveProperty([deprecated]);
    expect(origins[current]).toMatch(/ \(as router\.waitBudgetMs\)$/);
    expect(warnings).toEqual([
      expect.stringMatching(/: router\.waitBudgetMs is deprecated: set router\.responseDeadl/),
    ]);
  });

  it('takes the value of the last layer that sets it', async () => {
    const { config, warnings } = await load({ ...remote(), [variableOf(deprecated)]: '1005' });
    expect(config[current]).toBe(1005);
    expect(warnings).toHaveLength(1);
  });

  it('is accepted beside the current key when both have the same value', async () => {
    const { config, warnings } = await load({ ...remote(), [variableOf(current)]: '1004' });
    expect(config[current]).toBe(1004);
    expect(warnings).toHaveLength(1);
  });

  it('is an error beside the current key when their values differ, whichever layer is last', async () => {
    const { href } = pathToFileURL(join(rootDir, 'remote.properties'));
    expect(await problemsOf({ ...remote(), [variableOf(current)]: '2000' })).toEqual([
      `${href}: ${deprecated} is the deprecated name of ${current}, which has another value (environment): remove ${deprecated}`,
    ]);
    write('current.properties', `${current}=2000\n`);
    const env = { CONFIG_URL: pathToFileURL(join(rootDir, 'current.properties')).href, [deprecated]: '1000' };
    expect(await problemsOf(env)).toEqual([
      expect.stringMatching(/^environment: router\.waitBudgetMs is the deprecated/),
    ]);
  });

  it('with an invalid value is reported under both names', async () => {
    expect(await problemsOf({ [variableOf(deprecated)]: 'soon' })).toEqual([
      `environment (as ${deprecated}): ${current} must be an integer, but is "soon"`,
    ]);
  });
});

describe('a removed key', () => {
  const removed = 'admission.reservedPercent';

  it.each([
    ['a property file', () => ({ CONFIG_URL: pathToFileURL(join(rootDir, 'removed.properties')).href })],
    ['an environment variable', () => ({ [variableOf(removed)]: '20' })],
  ])('from %s is ignored, with a warning that says so', async (_source, env) => {
    write('removed.properties', `${removed}=20\n`);
    const { config, warnings } = await load(env());
    expect(config).not.toHaveProperty([removed]);
    expect(warnings).toEqual([
      expect.stringMatching(/: admission\.reservedPercent no longer has an effect \(.* reads and writes\): remove it$/),
    ]);
  });

  it('is neither a key of the schema nor a deprecated name', () => {
    for (const name of Object.keys(removedKeys)) {
      expect(configSchema.properties).not.toHaveProperty([name]);
      expect(deprecatedKeys).not.toHaveProperty([name]);
    }
  });
});

it('a configuration without deprecated names has no warnings', async () => {
  expect((await load({})).warnings).toEqual([]);
});

it('every deprecated name maps to a key of the schema and is not itself a key of the schema', () => {
  for (const [name, key] of Object.entries(deprecatedKeys)) {
    expect(configSchema.properties).toHaveProperty([key]);
    expect(configSchema.properties).not.toHaveProperty([name]);
  }
});
