// Tests of reading gateway.config.yml: a file that cannot be read, references in YAML, and a reserved name.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { readGatewayConfig } from '../../../gateway/configuration/read-gateway-config.ts';

const rootDir = mkdtempSync(join(tmpdir(), 'service-router-gateway-'));
afterAll(() => rmSync(rootDir, { recursive: true }));

it.each([
  ['a missing file', 'missing.yml', 'missing.yml: there is no such file'],
  ['a directory', '.', /: cannot be read: EISDIR/],
])('reports %s as a problem', (_, name, problem) => {
  const { gatewayConfig, problems } = readGatewayConfig({ file: join(rootDir, name), rootDir, config: {} as Config });
  expect(gatewayConfig).toBeUndefined();
  expect(problems.lines).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
});

it('reports aliases without an anchor and merge keys without a map, with the other errors of the file', () => {
  const file = join(rootDir, 'references.yml');
  const text = `apiEndpoints: &endpoints
  movies: { paths: *nowhere }
  movies: {}
pipelines:
  <<: *typo
  a: { <<: [*endpoints, *later] }
  b: { <<: text }
  c: { '<<': text }
plugins: &later {}
`;
  writeFileSync(file, text);
  const { gatewayConfig, problems } = readGatewayConfig({ file, rootDir, config: {} as Config });
  expect(gatewayConfig).toBeUndefined();
  expect(problems.lines).toEqual([
    'references.yml:2:20: there is no anchor "nowhere" before this alias',
    'references.yml:3:3: Map keys must be unique',
    'references.yml:5:7: there is no anchor "typo" before this alias',
    'references.yml:6:25: there is no anchor "later" before this alias',
    'references.yml:7:12: only a map, or a list of maps, can be merged',
  ]);
});

it('rejects an endpoint with the name that is reserved for the requests of the reconciler', () => {
  const file = join(rootDir, 'reserved.yml');
  const gatewayConfig = {
    http: { port: 0, hostname: '127.0.0.1' },
    apiEndpoints: { reconciler: { paths: '/x' } },
    plugins: { conductor: { package: 'conductor' } },
    policies: ['bearer'],
    pipelines: { reconciler: { apiEndpoints: ['reconciler'], policies: [{ bearer: null }] } },
  };
  writeFileSync(file, JSON.stringify(gatewayConfig, null, 2));
  const { problems } = readGatewayConfig({ file, rootDir, config: {} as Config });
  expect(problems.lines).toEqual([
    'reserved.yml:7:5: apiEndpoints.reconciler: this name is reserved for the requests of the reconciler, and ' +
      'clients cannot find executions of such requests: choose another name',
  ]);
});
