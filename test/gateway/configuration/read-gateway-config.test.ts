// Tests of reading gateway.config.yml: a file that cannot be read, references in YAML, a reserved name, and paths
// without a leading slash.

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

/** Returns a gateway configuration whose pipelines use the anchors of `extension`. */
const withAnchors = (extension: string, pipelines: string) => `http: { port: 0, hostname: 127.0.0.1 }
apiEndpoints: { one: { paths: /one } }
plugins: { own: { package: own } }
policies: [own]
pipelines:
  one:
    apiEndpoints: [one]
    policies:
      - own: { action: { ${extension} } }
${pipelines}`;

it('accepts anchors that thousands of aliases and merge keys use', () => {
  const file = join(rootDir, 'aliases.yml');
  const steps = Array.from({ length: 2_000 }, () => '      - own: { action: { <<: *map, list: *list } }\n').join('');
  writeFileSync(file, withAnchors('list: &list [a, b], map: &map { name: c }', steps));
  const { steps: read, problems } = readGatewayConfig({ file, rootDir, config: {} as Config });
  expect(problems.lines).toEqual([]);
  expect(read.get('one')).toHaveLength(2_001);
  expect(read.get('one')?.at(-1)?.action).toEqual({ name: 'c', list: ['a', 'b'] });
});

it('reports aliases whose expansion would grow exponentially, or never end, as a problem of the file', () => {
  const problemsOf = (name: string, extension: string) => {
    const file = join(rootDir, name);
    writeFileSync(file, withAnchors(extension, ''));
    return readGatewayConfig({ file, rootDir, config: {} as Config }).problems.lines;
  };
  const tenOf = (alias: string) => `[${Array.from({ length: 10 }, () => alias).join(', ')}]`;
  const levels = Array.from({ length: 8 }, (_, level) => `l${level + 1}: &l${level + 1} ${tenOf(`*l${level}`)}`);
  expect(problemsOf('growing.yml', [`l0: &l0 ${tenOf('x')}`, ...levels].join(', '))).toEqual([
    'growing.yml:1:1: the aliases cannot be expanded: an anchor may be used at most 10000 times: an alias inside an aliased value counts once for each use of that value',
  ]);
  expect(problemsOf('endless.yml', 'a: &a { b: [*a] }')).toEqual([
    'endless.yml:9:38: the value with the anchor "a" contains this alias',
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

it('rejects paths that no request matches because they do not begin with a slash', () => {
  const file = join(rootDir, 'paths.yml');
  const problemsOf = (endpoints: string) => {
    const text = withAnchors('', '').replace('{ one: { paths: /one } }', `{ one: { paths: /one }, ${endpoints} }`);
    writeFileSync(file, text.replace('apiEndpoints: [one]', 'apiEndpoints: [one, two, three]'));
    return readGatewayConfig({ file, rootDir, config: {} as Config }).problems.lines;
  };
  expect(problemsOf("two: { paths: rel }, three: { paths: [/three, ':id/x', ''] }")).toEqual([
    'paths.yml:2:46: apiEndpoints.two.paths: must begin with / or *',
    'paths.yml:2:85: apiEndpoints.three.paths[1]: must begin with / or *',
    'paths.yml:2:94: apiEndpoints.three.paths[2]: must begin with / or *',
  ]);
  // `*` matches every path, as in Express Gateway.
  expect(problemsOf("two: { paths: '*' }, three: { paths: [/, /three/*] }")).toEqual([]);
});
