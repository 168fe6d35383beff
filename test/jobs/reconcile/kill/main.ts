// The program of `npm run kill-test`: kills engines repeatedly under PATCH load, then checks adaptors and MDM.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EngineServers, startEngineServers } from '../../../stack/engine-servers.ts';
import { type Stack, startStack } from '../../../stack/stack.ts';
import { hastenTimeouts } from './hasten-timeouts.ts';
import { killEngines, type Kills } from './kill-engines.ts';
import { type KillOptions, parseKillOptions } from './options.ts';
import { type PatchLoad, preparePersons, startPatchLoad } from './patch-load.ts';
import { countByStatus, readMetric, untilAtRest } from './rest.ts';
import { judge } from './verdict.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(options: KillOptions): Promise<number> {
  const interrupted = once(process, 'SIGTERM').then(() => 143);
  const dir = mkdtempSync(join(tmpdir(), 'service-router-kill-'));
  say(`seed ${options.random.seed}; logs in ${dir}`);
  const { database, engines: count } = options;
  const engines = await startEngineServers({ database, count, dir, prepare: hastenTimeouts });
  const interval = options.withReconciler ? '2000' : '0';
  let stack: Stack | undefined;
  let exitCode = 1;
  try {
    stack = await startStack({
      engineUrl: engines.urls.join(','),
      anyAnswer: true,
      router: { RECONCILER_INTERVALMS: interval, RECONCILER_AFTERMS: '10000', ROUTER_RESPONSEDEADLINEMS: '8000' },
    });
    say('the stack is ready');
    exitCode = await Promise.race([run(engines, stack, options), interrupted]);
    return exitCode;
  } finally {
    if (stack !== undefined) writeLogs(stack, dir);
    await stack?.stop();
    await engines.stop();
    if (exitCode === 0) rmSync(dir, { recursive: true, force: true });
    else say(`what the processes wrote is kept in ${dir}`);
  }
}

async function run(engines: EngineServers, stack: Stack, options: KillOptions): Promise<number> {
  const { shared, own } = await preparePersons(stack.backEndsUrl);
  const persons = [...shared, ...own];
  const load = await startPatchLoad(stack.url, persons);
  const kills = await killEngines(engines, load, { ...options, persons: persons.length, say });
  await load.stop();
  return report({ kills, load, persons }, { engines, stack, options });
}

interface Done {
  readonly kills: Kills;
  readonly load: PatchLoad;
  readonly persons: readonly string[];
}
interface Setting {
  readonly engines: EngineServers;
  readonly stack: Stack;
  readonly options: KillOptions;
}

async function report({ kills, load, persons }: Done, { engines, stack, options }: Setting): Promise<number> {
  const [engineUrl] = engines.urls as [string];
  const restAt = performance.now();
  const unrest = await untilAtRest(engineUrl, stack, options.restUntilMs - performance.now());
  const restSeconds = Math.round((performance.now() - restAt) / 1_000);
  const verdict = await judge(stack.backEndsUrl, { acknowledged: load.acknowledged, persons });
  const violations = [...verdict.violations, ...(unrest === undefined ? [] : [unrest])];
  for (const line of violations) say(`VIOLATION ${line}`);
  const recoveries = kills.recoveryMs.toSorted((one, other) => one - other);
  say(
    JSON.stringify({
      database: options.database,
      engines: options.engines,
      reconciler: options.withReconciler,
      seed: options.random.seed,
      kills: kills.done,
      ...verdict.counts,
      statuses: Object.fromEntries(load.statuses),
      recoveryMs: { median: recoveries[Math.floor(recoveries.length / 2)], worst: recoveries.at(-1) },
      repairs: await readMetric(stack, 'router_reconciled_total'),
      ended: await countByStatus(engineUrl),
      restSeconds,
      seconds: Math.round(performance.now() / 1_000),
      violations: violations.length,
    }),
  );
  return violations.length === 0 ? 0 : 1;
}

function writeLogs(stack: Stack, dir: string): void {
  const programs = [stack.router, stack.identityProvider, stack.backEnds, ...stack.workers];
  for (const [index, program] of programs.entries()) {
    writeFileSync(
      join(dir, `${program.process.spawnargs.at(-1)?.replaceAll('/', '-')}-${index}.log`),
      program.output(),
    );
  }
}

// Exits explicitly, because an interrupted run may still have open handles.
process.exit(await main(parseKillOptions(process.argv.slice(2))));
