// npm run test:cluster: the production topology without containers, every part of it killed under load.

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { help, parseClusterOptions } from './options.ts';
import { findRequirements } from './requirements.ts';
import { runCluster } from './run.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const options = parseClusterOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(help);
    return 0;
  }
  const requirements = await findRequirements();
  const dir = mkdtempSync(join(tmpdir(), 'service-router-cluster-'));
  // As root, PostgreSQL runs as another user and has to get in.
  chmodSync(dir, 0o755);
  say(`seed ${options.random.seed}; logs, data and history in ${dir}`);
  const violations = await runCluster(options, { dir, requirements, say }).catch((error: Error) => [error.message]);
  for (const line of violations.slice(0, mostLines)) say(`VIOLATION ${line}`);
  if (violations.length > mostLines) say(`and ${violations.length - mostLines} more`);
  if (violations.length > 0) showLogs(dir);
  if (violations.length > 0 || options.keep) say(`kept ${dir}`);
  else rmSync(dir, { recursive: true, force: true });
  say(violations.length === 0 ? 'every invariant held' : `${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}

const mostLines = 50;
const shownLines = 15;

/** The end of everything that the processes wrote. */
function showLogs(dir: string): void {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => /\.log$/.test(name));
  for (const name of files.toSorted()) {
    const lines = readFileSync(join(dir, name), 'utf8').trimEnd().split('\n');
    say(`--- ${name}`);
    for (const line of lines.slice(-shownLines)) say(line.slice(0, 400));
  }
}

process.exit(
  await main().catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    return 1;
  }),
);
