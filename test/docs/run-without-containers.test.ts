// Tests of docs/how-to/run-without-containers.md: the production profile accepts its settings, and its files and
// versions exist.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { engineRelease } from '../../dev/engine/release.ts';
import { textOf } from '../deploy/deployment-files.ts';
import { keycloakRelease } from '../keycloak/release.ts';
import { codeBlocksOf, readPage, rootDir } from './pages.ts';

const blocks = codeBlocksOf(readPage('docs/how-to/run-without-containers.md'));
const textIn = (language: string) =>
  blocks
    .filter((block) => block.language === language)
    .map(({ text }) => text)
    .join('\n');
const commands = textIn('bash');
const settings = textIn('properties');
const dir = mkdtempSync(join(tmpdir(), 'service-router-how-to-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe('the how-to for running without containers', () => {
  it('has settings that the production profile accepts', async () => {
    const file = join(dir, 'production.properties');
    writeFileSync(file, settings);
    const env = { NODE_ENV: 'production', CONFIG_URL: pathToFileURL(file).href, REDIS_URL: 'redis://127.0.0.1:6379' };
    const { config } = await loadConfig({ env });
    expect(config).toMatchObject({
      'limits.store': 'redis',
      'workers.clientId': 'worker',
      'oauth.audience': 'urn:service-router',
    });
  });

  it('fetches the releases that the product runs on', () => {
    expect(commands).toContain(`copy ${engineRelease.coordinates} `);
    expect(commands).toContain(`copy ${keycloakRelease.coordinates} `);
  });

  it('starts files that exist', () => {
    const named = commands.match(/(?<![\w/.-])(?:deploy|lib|cli|gateway|workers|jobs|config)\/[\w./-]+/g) ?? [];
    expect(new Set(named).size).toBeGreaterThan(8);
    expect(named.filter((file) => !existsSync(join(rootDir, file)))).toEqual([]);
  });

  it('replaces addresses that occur in the load balancer configuration', () => {
    const replaced = [...commands.matchAll(/-e 's\/([^/]+)\//g)].map(([, from = '']) => from);
    const haproxy = textOf('deploy/load-balancer/haproxy.cfg');
    expect(replaced).toHaveLength(5);
    expect(replaced.filter((from) => !haproxy.includes(from))).toEqual([]);
  });

  it('gives every placeholder of the realm a secret', () => {
    const placeholders = textOf('deploy/keycloak/service-router-realm.json').match(/(?<=\$\{)[A-Z_]+(?=\})/g) ?? [];
    expect(placeholders.length).toBeGreaterThan(0);
    expect(placeholders.filter((name) => !commands.includes(name))).toEqual([]);
  });
});
