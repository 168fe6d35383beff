// npm run bench:reload: counts failed requests and measures p99 under a steady load: first without reloads, then with
// 20 reloads, then without reloads again.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { LoadFigures } from './measure/load-figures.ts';
import { engineChoiceOf, engineFlags, engineFlagsHelp, engineName, positive } from './options.ts';
import { startBackEnd } from './programs/back-end-process.ts';
import { startBenchEngine } from './programs/engine.ts';
import { rootDir, startProgram } from './programs/program.ts';
import type { Plan } from './programs/sender.ts';
import { type BenchRouter, moviePath, startRouter, startStack } from './programs/stack.ts';
import { describeCircumstances, lookAround } from './report/machine.ts';
import { markdownTable, readable } from './report/tables.ts';
import { writeJson } from './report/write-results.ts';
import { type Run, runBench } from './run.ts';

const help = `Usage: npm run bench:reload [-- options]

Sends GETs at a fixed rate, and meanwhile changes the gateway configuration and reloads it with SIGHUP.
Exits with 1 when a request failed, a reload was refused, or p99 more than doubled.

  --per-second 200         requests a second
  --seconds 40             length of each of the three loads
  --reloads 20             number of reloads, spread evenly over the second load
  --stub                   an engine and a worker that respond at once, so that only the router is measured
${engineFlagsHelp}`;

const warmUpSeconds = 15;

/** One load and the reloads during it. */
interface Phase {
  readonly name: string;
  readonly figures: LoadFigures;
  readonly applied: number;
  readonly refused: number;
}

interface Bench {
  readonly router: BenchRouter;
  readonly token: string;
  readonly gatewayConfigFile: string;
  send(plan: Plan): Promise<LoadFigures>;
}

process.exit(
  await runBench(async (run) => {
    const { values } = parseArgs({
      options: {
        'per-second': { type: 'string', default: '200' },
        seconds: { type: 'string', default: '40' },
        reloads: { type: 'string', default: '20' },
        stub: { type: 'boolean', default: false },
        ...engineFlags,
      },
    });
    if (values.help) return run.say(help);
    const circumstances = await lookAround(values.stub ? 'a stub engine' : engineName(values));
    run.say(describeCircumstances(circumstances));
    const bench = await startPrograms(run, values);
    const perSecond = positive('per-second', values['per-second']);
    const seconds = positive('seconds', values.seconds);
    const load = async (name: string, length: number, reloads = 0) => {
      run.step(`${name}: ${length} s`);
      return runPhase(bench, { name, perSecond, seconds: length, reloads });
    };
    await load('warm-up', warmUpSeconds, 3);
    const phases = [
      await load('without reloads', seconds),
      await load('with reloads', seconds, positive('reloads', values.reloads)),
      await load('without reloads again', seconds),
    ];
    report(run, phases);
    const file = `${values.name ?? (values.stub ? 'reload-stub' : 'reload')}.json`;
    run.say(`\n${writeJson(file, { ...circumstances, options: values, phases })}`);
    judge(phases, positive('reloads', values.reloads));
  }),
);

async function startPrograms(
  run: Run,
  values: Parameters<typeof engineChoiceOf>[0] & { stub: boolean },
): Promise<Bench> {
  const gatewayConfigFile = join(run.stateDir, 'map.yml');
  writeGatewayConfig(gatewayConfigFile, 0);
  const routerEnv = { ROUTER_GATEWAYCONFIGFILE: gatewayConfigFile };
  const start = async (name: string, env: Record<string, string> = {}) => {
    const entry = `bench/programs/${name}.ts`;
    const program = await startProgram({ name, entry, env, stateDir: run.stateDir });
    run.onEnd(() => program.stop());
    return program;
  };
  let router: BenchRouter;
  if (values.stub) {
    router = await startRouter(run, { url: String((await start('engine-stub')).ready['url']) }, routerEnv);
    await start('stub-worker', { BENCH_ROUTER: router.url });
  } else {
    const engine = await startBenchEngine(run, engineChoiceOf(values));
    const backEnd = await startBackEnd(run);
    router = await startStack(run, { engine, backEndUrl: backEnd.url, routerEnv });
  }
  const sender = await start('sender');
  return {
    ...{ router, gatewayConfigFile },
    token: await router.tokenOf('demo'),
    send: async (plan) => ((await sender.ask(plan)) as { figures: LoadFigures }).figures,
  };
}

/** Writes the gateway configuration with one string changed. Each reload rebuilds all policies and pipelines. */
function writeGatewayConfig(file: string, variant: number): void {
  const map = readFileSync(join(rootDir, 'gateway.config.yml'), 'utf8');
  writeFileSync(file, map.replace('The movies prototype', `The movies prototype, variant ${variant}`));
}

interface PhaseOptions {
  readonly name: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly reloads: number;
}

async function runPhase(bench: Bench, { name, perSecond, seconds, reloads }: PhaseOptions): Promise<Phase> {
  const { router, token, gatewayConfigFile } = bench;
  const { hostname: host, port } = new URL(router.url);
  const head = `host: ${host}:${port}\r\nauthorization: Bearer ${token}\r\n`;
  const before = await countReloads(router);
  const sending = bench.send({
    ...{ host, port: Number(port), seconds, arrival: { perSecond }, patienceMs: 20_000 },
    requests: [{ name: 'read', text: `GET ${moviePath} HTTP/1.1\r\n${head}\r\n` }],
  });
  for (let reload = 1; reload <= reloads; reload++) {
    await pause((seconds * 1_000) / (reloads + 1));
    writeGatewayConfig(gatewayConfigFile, before.applied + reload);
    process.kill(router.pid, 'SIGHUP');
  }
  const figures = await sending;
  const after = await countReloads(router);
  return { name, figures, applied: after.applied - before.applied, refused: after.refused - before.refused };
}

async function countReloads({ operationsUrl }: BenchRouter): Promise<{ applied: number; refused: number }> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const count = (result: string) =>
    Number(new RegExp(`^router_config_reloads_total{result="${result}"} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return { applied: count('applied'), refused: count('refused') };
}

function failuresOf({ figures }: Phase): number {
  const { others, refused, unanswered } = figures;
  return Object.values(others).reduce((sum, count) => sum + count, 0) + refused.count + unanswered;
}

function report(run: Run, phases: readonly Phase[]): void {
  const header = ['load', 'offered/s', 'answered', 'failed', 'p50 ms', 'p99 ms', 'max ms', 'reloads', 'sender late ms'];
  const rows = phases.map((phase) => {
    const { name, figures, applied } = phase;
    const { served, offeredPerSecond, senderLatestMs } = figures;
    return [
      name,
      readable(offeredPerSecond),
      String(served.count),
      String(failuresOf(phase)),
      ...[served.p50, served.p99, served.max].map(readable),
      String(applied),
      readable(senderLatestMs),
    ];
  });
  run.say(markdownTable([header, ...rows]));
}

/** @throws Error that lists the problems */
function judge(phases: readonly Phase[], reloads: number): void {
  const [without, during, again] = phases as [Phase, Phase, Phase];
  const problems: string[] = [];
  for (const phase of phases) {
    if (failuresOf(phase) > 0) problems.push(`${phase.name}: ${failuresOf(phase)} requests failed`);
  }
  if (during.applied !== reloads) problems.push(`${during.applied} of ${reloads} reloads were applied`);
  const usual = Math.max(without.figures.served.p99, again.figures.served.p99);
  if (during.figures.served.p99 > 2 * usual) problems.push('p99 more than doubled');
  if (problems.length > 0) throw new Error(problems.join('; '));
}
