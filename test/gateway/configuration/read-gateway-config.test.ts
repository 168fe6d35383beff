// Tests of reading gateway.config.yml when there is no readable file.

import { mkdtempSync, rmSync } from 'node:fs';
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
