// `npm run test:compose`: builds the images and brings docker-compose.yml up where a Docker daemon answers. Arguments go to vitest.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { composeVariables } from './deployment-files.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the missing requirement of this suite as a sentence; undefined when nothing is missing. */
function whatIsMissing(): string | undefined {
  const compose = spawnSync('docker', ['compose', 'version'], { encoding: 'utf8' });
  if (compose.status !== 0) return 'docker compose is not installed';
  const daemon = spawnSync('docker', ['info', '--format', '{{.ServerVersion}}'], { encoding: 'utf8', timeout: 30_000 });
  return daemon.status === 0 ? undefined : `no Docker daemon answers (DOCKER_HOST): ${daemon.stderr.trim()}`;
}

const missing = whatIsMissing();
if (missing !== undefined) {
  process.stderr.write(`${missing}\n`);
  process.exit(1);
}
// A reader of the result must know what ran.
for (const name of composeVariables().keys()) {
  if (/_IMAGE$|_VERSION$/.test(name))
    process.stdout.write(`${name}: ${process.env[name] ?? 'as in docker-compose.yml'}\n`);
}
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', 'test/deploy/compose-up.test.ts'];
const child = spawn(process.execPath, [...vitest, ...process.argv.slice(2)], {
  cwd: rootDir,
  stdio: 'inherit',
  env: { ...process.env, TEST_DEPTH: 'full' },
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
