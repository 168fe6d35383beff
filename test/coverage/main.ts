// `npm run coverage`: runs the tests with V8's coverage in every process, including spawned programs, and shows the
// share of covered lines by folder.
//
// Arguments after `--` go to vitest.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInside, parseOptions, usage } from './options.ts';
import { readCoverage } from './read-coverage.ts';
import { tableOf } from './table.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

async function main(): Promise<number> {
  const sources = sourceFiles();
  const { folders, least, vitestArguments, help } = parseOptions(process.argv.slice(2), sources);
  if (help) return (process.stdout.write(usage), 0);
  const dir = mkdtempSync(join(tmpdir(), 'service-router-coverage-'));
  try {
    const code = await runTests(dir, vitestArguments);
    const files = readCoverage(dir, rootDir, sources);
    process.stdout.write(`${tableOf(files, folders)}\n`);
    const isShown = (file: string) => folders.some((folder) => isInside(file, folder));
    const short = files.filter(({ file, lines, covered }) => isShown(file) && covered * 100 < least * lines);
    for (const { file } of short) process.stdout.write(`${file} is below ${least} %\n`);
    return code === 0 && short.length === 0 ? 0 : 1;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Returns the paths of the product's own code below the root. */
function sourceFiles(): string[] {
  const files = globSync('{lib,gateway,plugins,jobs,workers,cli}/**/*.ts', { cwd: rootDir });
  return files.filter((file) => !file.endsWith('.d.ts') && !file.includes('/overrides/')).toSorted();
}

/** Runs the tests; returns their exit code. Node passes NODE_V8_COVERAGE on to every process that it starts. */
async function runTests(dir: string, args: readonly string[]): Promise<number> {
  const vitest = join(rootDir, 'node_modules/vitest/vitest.mjs');
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url));
  const child = spawn(process.execPath, [vitest, 'run', '--config', config, '--root', rootDir, ...args], {
    cwd: rootDir,
    stdio: 'inherit',
    env: { ...process.env, NODE_V8_COVERAGE: dir },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

process.exitCode = await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  return 1;
});
