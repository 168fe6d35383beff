// `npm test`: formatting, lint, types, then every test; stops at the first step that fails.
//
// Arguments go to vitest (`npm test -- test/e2e/routes.test.ts`); `--keycloak` adds the opt-in suite.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const rootDir = fileURLToPath(new URL('..', import.meta.url));
const bin = (path: string) => `${rootDir}node_modules/${path}`;
const given = process.argv.slice(2);
const keycloak = given.includes('--keycloak');
const forVitest = given.filter((argument) => argument !== '--keycloak');

const steps: readonly (readonly [title: string, script: string, ...args: string[]])[] = [
  ['formatting', bin('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
  ['lint', bin('eslint/bin/eslint.js'), '--max-warnings', '0', '.'],
  ['types', bin('typescript/bin/tsc'), '-p', '.'],
  ['tests', bin('vitest/vitest.mjs'), 'run', ...forVitest],
];

for (const [title, script, ...args] of steps) {
  const startedAt = performance.now();
  process.stdout.write(`── ${title}\n`);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...args], {
    cwd: rootDir,
    stdio: 'inherit',
    env: { ...process.env, ...(keycloak ? { WITH_KEYCLOAK: '1' } : {}) },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.stdout.write(
    `── ${title}: ${code === 0 ? 'ok' : 'failed'} in ${Math.round((performance.now() - startedAt) / 1000)} s\n`,
  );
  if (code !== 0) process.exit(code ?? 1);
}
