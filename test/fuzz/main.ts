// `npm run fuzz`: the fuzz tests for longer; FUZZ_SECONDS (default 100) for each, FUZZ_SEED to repeat a run.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const vitest = `${rootDir}node_modules/vitest/vitest.mjs`;
const child = spawn(process.execPath, [vitest, 'run', '--project', 'e2e', 'test/e2e/wire-fuzz.test.ts'], {
  cwd: rootDir,
  stdio: 'inherit',
  env: { FUZZ_SECONDS: '100', ...process.env },
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
