// `npm run faults`: breaks things for real, one case after the other, and keeps what it found in test/faults/results/.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Case } from './cases/case.ts';
import { cases } from './cases/index.ts';
import { type EngineKind, type FaultEngine, startFaultEngine } from './engine.ts';
import { resultsDir, writeReport } from './report.ts';
import { type Findings, runCase } from './run-case.ts';

const help = `Usage: npm run faults [-- options]

Runs cases on an engine of its own; each run is added to test/faults/results/<case>.<engine>.json.
Exit code: 0 nothing was wrong, 1 otherwise.

  --case <name>      may be repeated; default: all
  --tries <n>        instead of the case's own number
  --seconds <n>      no try of a case begins later than this (180)
  --slack <n>        multiplies the times that are judged, for a machine busy with other things (1)
  --engine <kind>    sqlite (default) or postgresql
  --template <dir>   keeps an engine's database with the definitions there, for the next run
  --dry              keeps no results
  --report           runs nothing: brings the table of docs/guarantees.md up to date
  --help

Cases: ${cases.map(({ name }) => name).join(', ')}
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      case: { type: 'string', multiple: true, default: [] },
      tries: { type: 'string' },
      seconds: { type: 'string', default: '180' },
      slack: { type: 'string', default: '1' },
      engine: { type: 'string', default: 'sqlite' },
      template: { type: 'string' },
      dry: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return (say(help), 0);
  if (values.report) return (writeReport(), 0);
  const kind = engineKind(values.engine);
  const chosen = choose(values.case);
  if (process.env['CONDUCTOR_URL']) throw new Error('the cases kill the engine: unset CONDUCTOR_URL');
  const tries = values.tries === undefined ? undefined : Number(values.tries);
  const engines = new Engines(kind, values.template);
  let isGood = true;
  try {
    for (const each of chosen) {
      const missing = each.missing?.();
      if (missing !== undefined) {
        say(`${each.name}: skipped, this machine has no ${missing}`);
        continue;
      }
      const findings = await runCase(each, await engines.for(each), {
        tries: tries ?? each.tries,
        seconds: Number(values.seconds),
        slack: Number(values.slack),
        say,
      }).catch((error: Error) => say(`${each.name}: ${error.stack}`));
      isGood &&= findings !== undefined;
      if (findings === undefined) continue;
      if (!values.dry) keep(findings);
      say(JSON.stringify(findings, null, 2));
      isGood &&= findings.violations === 0 && findings.complaints.length === 0;
    }
  } finally {
    await engines.stop();
  }
  return isGood ? 0 : 1;
}

/** One engine for all cases, but for those that need one of their own. */
class Engines {
  readonly #kind: EngineKind;
  readonly #templateDir: string | undefined;
  #running: { engine: FaultEngine; needs: string } | undefined;

  constructor(kind: EngineKind, templateDir: string | undefined) {
    this.#kind = kind;
    this.#templateDir = templateDir;
  }

  async for({ diskMiB, ownServer }: Case): Promise<FaultEngine> {
    const needs = JSON.stringify({ diskMiB, ownServer });
    if (this.#running !== undefined && this.#running.needs !== needs) await this.stop();
    const options = { diskMiB, ownServer: ownServer !== undefined, templateDir: this.#templateDir };
    this.#running ??= { engine: await startFaultEngine(ownServer ?? this.#kind, options), needs };
    return this.#running.engine;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.engine.stop();
  }
}

function engineKind(name: string): EngineKind {
  if (name === 'sqlite' || name === 'postgresql') return name;
  throw new Error(`--engine is sqlite or postgresql, not ${name}`);
}

function choose(names: readonly string[]): readonly Case[] {
  if (names.length === 0) return cases;
  return names.map((name) => {
    const found = cases.find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no case ${name}; --help lists them`);
    return found;
  });
}

function keep(findings: Findings): void {
  mkdirSync(resultsDir, { recursive: true });
  const file = join(resultsDir, `${findings.case}.${findings.engine}.json`);
  const earlier = readRuns(file);
  writeFileSync(file, `${JSON.stringify([...earlier, findings], null, 2)}\n`);
}

function readRuns(file: string): Findings[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Findings[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

// Not by itself: Node spins at its exit when one of the many sockets that were reset is left over.
process.exit(await main());
