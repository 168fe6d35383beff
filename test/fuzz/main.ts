// `npm run fuzz`: the fuzz tests for longer than in a run of all tests.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const help = `Usage: npm run fuzz [-- options]

Sends a running router requests that nobody sends, and bytes that are nearly requests. A failure prints the bytes.

  --seconds <n>   how long each of the two goes on (FUZZ_SECONDS, 100)
  --seed <n>      repeats a run (TEST_SEED, random)
  --help
`;

const { values } = parseArgs({
  options: { seconds: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean', default: false } },
});
if (values.help) process.stdout.write(help);
else process.exitCode = await fuzz();

async function fuzz(): Promise<number> {
  const { FUZZ_SECONDS = '100', TEST_SEED } = process.env;
  const { seconds = FUZZ_SECONDS, seed = TEST_SEED } = values;
  const rootDir = fileURLToPath(new URL('../..', import.meta.url));
  const vitest = `${rootDir}node_modules/vitest/vitest.mjs`;
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'e2e', 'test/e2e/wire-fuzz.test.ts'], {
    cwd: rootDir,
    stdio: 'inherit',
    env: { ...process.env, FUZZ_SECONDS: seconds, ...(seed === undefined ? {} : { TEST_SEED: seed }) },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
