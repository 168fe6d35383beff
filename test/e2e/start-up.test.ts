// Tests of programs that cannot start: they report every problem and exit with 1.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { GatewayConfigError } from '../../gateway/configuration/read-gateway-config.ts';
import { startRouter } from '../../gateway/start-router.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { ProgramFailed, startProgram } from '../stack/program.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-start-'));
afterAll(() => rmSync(dir, { recursive: true }));
const issuer = { OAUTH_ISSUER: 'http://127.0.0.1:9/', STATE_DIR: dir };
const shipped = readFileSync(new URL('../../gateway.config.yml', import.meta.url), 'utf8');

async function failure(entry: string, env: Record<string, string>): Promise<ProgramFailed> {
  try {
    const program = await startProgram(entry, env);
    await program.kill();
  } catch (error) {
    if (error instanceof ProgramFailed) return error;
    throw error;
  }
  throw new Error(`${entry} started`);
}

/** Starts a router with a changed gateway configuration and returns the problems that it reports. */
async function problemsOf(change: (text: string) => string): Promise<readonly string[]> {
  const gatewayConfigFile = join(dir, `${randomUUID()}.yml`);
  writeFileSync(gatewayConfigFile, change(shipped));
  const { config } = await loadConfig({ env: { ...issuer, ROUTER_PORT: '0', OPS_PORT: '0' } });
  try {
    const router = await startRouter({ config, log: createLog('test', 'silent'), gatewayConfigFile });
    await router.stop();
    return [];
  } catch (error) {
    if (error instanceof GatewayConfigError) return error.problems;
    throw error;
  }
}

describe('gateway.config.yml', () => {
  it('is valid as shipped', async () => {
    expect(await problemsOf((text) => text)).toEqual([]);
  });

  it.each([
    ['an unknown top-level key', (text: string) => `${text}\nadmin: { port: 9876 }\n`, 'unknown key "admin"'],
    [
      'a misspelt apiEndpoints',
      (text: string) => text.replace('apiEndpoints:\n  token', 'apiEndpoint:\n  token'),
      '"apiEndpoints" is missing',
    ],
    ['a missing port', (text: string) => text.replace('  port: ${router.port}\n', ''), 'http: "port" is missing'],
    [
      'a pipeline to an unknown endpoint',
      (text: string) => text.replace('apiEndpoints: [movies]', 'apiEndpoints: [films]'),
      'there is no apiEndpoint "films"',
    ],
    [
      'an endpoint that no pipeline serves',
      (text: string) => text.replace('apiEndpoints: [movies]', 'apiEndpoints: [films]'),
      'no pipeline serves this apiEndpoint',
    ],
    [
      'a policy that no plugin provides',
      (text: string) => text.replace(/^(policies:\s+)\[token,/m, '$1[proxy, token,'),
      'no plugin provides "proxy"',
    ],
    [
      'an undeclared policy',
      (text: string) => text.replace(/^(policies:\s+\[.*), workflow\b/m, '$1'),
      'not declared under policies',
    ],
    [
      'a misspelt parameter',
      (text: string) => text.replace('strip: /movies', 'stripp: /movies'),
      'unknown parameter "stripp"',
    ],
    [
      'a missing parameter',
      (text: string) => text.replace(', strip: /movies', ''),
      'workflow[0].action: "strip" is missing',
    ],
    [
      'a parameter of the wrong type',
      (text: string) => text.replace('version: 1, strip: /movies', 'version: one, strip: /movies'),
      'must be an integer',
    ],
    [
      'shares that sum to 0',
      (text: string) => text.replace('name: moviesWF, version: 1', 'name: moviesWF, versions: { 1: 0, 2: 0 }'),
      'pipelines.movies.policies[3].workflow[0].action: versions: the shares sum to 0, so no version would get a request: give at least one version a share above 0, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      'both version and versions',
      (text: string) => text.replace('name: moviesWF, version: 1', 'name: moviesWF, version: 1, versions: { 1: 1 }'),
      'version and versions are both given: keep one of them',
    ],
    [
      'no version',
      (text: string) => text.replace('name: moviesWF, version: 1', 'name: moviesWF'),
      'needs a version: write `version: 1`, or give several versions with their shares',
    ],
    [
      'a guard with a misspelt parameter',
      (text: string) =>
        text.replace(
          'name: moviesWF, version: 1',
          'name: moviesWF, versions: { 1: 1, 2: 1 }, versionGuard: { failurePercent: 20, window: 1 }',
        ),
      'unknown parameter "window"',
    ],
    [
      'a plugin that does not exist',
      (text: string) => text.replace('plugins/oauth2/index.ts', 'plugins/oauth3/index.ts'),
      'plugins.oauth2',
    ],
    [
      'an asynchronous condition',
      (text: string) =>
        text.replace(
          'version: 1, strip: /movies }',
          'version: 1, strip: /movies }\n            condition: { name: json-schema, schema: { $id: x } }',
        ),
      'asynchronous',
    ],
    [
      'an unknown method',
      (text: string) => text.replace('methods: [POST]', 'methods: [POTS]'),
      'apiEndpoints.token.methods',
    ],
    [
      'a reference to an unknown configuration key',
      (text: string) => text.replace('${router.port}', '${router.prot}'),
      '${router.prot} is not set',
    ],
    ['broken YAML', (text: string) => text.replace('pipelines:', 'pipelines: ]'), ':12: Unexpected'],
    [
      'a duplicate key',
      (text: string) => text.replace('plugins:', 'http: { port: 1, hostname: a }\nplugins:'),
      'Map keys must be unique',
    ],
  ])('with %s is refused', async (_title, change, expected) => {
    expect((await problemsOf(change)).join('\n')).toContain(expected);
  });

  it("with a plugin that cannot be parsed is refused with the parser's error", async () => {
    const plugin = join(dir, 'broken.ts');
    writeFileSync(plugin, 'export const version = ;');
    const problems = await problemsOf((text) => text.replace('./plugins/oauth2/index.ts', plugin));
    expect(problems.join('\n')).toMatch(
      /broken\.ts cannot be loaded: .*(?:\bfailed|Expression expected|Unexpected token)/is,
    );
  });

  it('all problems are listed at once', async () => {
    const problems = await problemsOf((text) =>
      text.replace('stripp', 'strip').replace('strip: /movies', 'stripp: /movies').replace('writeScope', 'writeScop'),
    );
    expect(problems).toHaveLength(3);
  });
});

describe('a program that cannot start', () => {
  it('a router without an issuer and with an invalid port names both problems and exits with 1', async () => {
    const { exitCode, output } = await failure('gateway/main.ts', { ROUTER_PORT: 'eighty' });
    expect(exitCode).toBe(1);
    expect(output).toContain('oauth.issuer is not set');
    expect(output).toContain('router.port must be an integer, but is "eighty"');
  });

  it('a router on a port in use names the port and its configuration keys, and exits with 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { exitCode, output } = await failure('gateway/main.ts', {
      ...issuer,
      ROUTER_PORT: String(port),
      OPS_PORT: '0',
    });
    taken.close();
    expect(exitCode).toBe(1);
    expect(output).toContain(`cannot listen on 127.0.0.1:${port} (router.host, router.port)`);
  });

  it('workers without credentials name the keys that they need, and exit with 1', async () => {
    const { exitCode, output } = await failure('workers/main.ts', {});
    expect(exitCode).toBe(1);
    expect(output).toMatch(/workers\.clientId.*WORKERS_CLIENTID/s);
  });

  it('a router that cannot reach its remote property file names the file and exits with 1', async () => {
    const { output, exitCode } = await failure('gateway/main.ts', {
      ...issuer,
      CONFIG_URL: 'http://127.0.0.1:9/x.properties',
      CONFIG_TIMEOUTMS: '200',
    });
    expect(exitCode).toBe(1);
    expect(output).toContain('http://127.0.0.1:9/x.properties cannot be read');
  });
});
