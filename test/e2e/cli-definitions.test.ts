// Tests of the commands `plan`, `apply` and `dump` on a real engine: output, changes, and concurrent changes.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cliEntry, runCli } from '../cli/run-cli.ts';
import { definitionNames, productDir } from '../lib/conductor/definitions/copy-of-product.ts';
import { compileCache } from '../stack/compile-cache.ts';
import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { definitionIn, definitionsOn, type DefinitionsOnEngine } from './definitions-on-engine.ts';
import { type RandomDefinitions, randomDefinitions } from './random-definitions.ts';
import { engineOfRun } from './engine-of-run.ts';
import { byDepth } from '../run/depth.ts';
import { requires } from '../run/requirements.ts';

const engineUrl = engineOfRun().url;

let files: RandomDefinitions;
let on: DefinitionsOnEngine;
let movies: { workflow: string; task: string; file: string; taskFile: string };
beforeEach(() => {
  files = randomDefinitions();
  on = definitionsOn(engineUrl, files);
  const { suffix } = files;
  movies = {
    workflow: `moviesWF${suffix}`,
    task: `movies_intake${suffix}`,
    file: `workflows/moviesWF${suffix}.v1.json`,
    taskFile: `workflows/tasks/movies_intake${suffix}.json`,
  };
});
afterEach(() => files.dispose());

interface PlanJson {
  ok: boolean;
  plan: string;
  outcome?: string;
  changes: { action: string; kind: string; name: string; version?: number; runningExecutions?: number; diff: string }[];
  unchanged: number;
  onlyInEngine: { name: string }[];
  done?: unknown[];
}

const everything = [
  'event handler mdm',
  'event handler mdm-share-002',
  'task type movies_intake',
  'workflow college-adaptorWF v1',
  'workflow college-adaptorWF v2',
  'workflow lms-dwWF v1',
  'workflow mdm-shareWF v1',
  'workflow mdmWF v1',
  'workflow moviesWF v1',
];

/** Renames the handler mdm in the files, so that the plan removes one handler and adds one. */
function renameHandler(): void {
  const { suffix } = files;
  files.rename(`event-handlers/mdm${suffix}.json`, `event-handlers/patched${suffix}.json`);
  files.replace(`event-handlers/patched${suffix}.json`, `"name": "mdm${suffix}"`, `"name": "patched${suffix}"`);
}

/** Adds a second version of moviesWF to the files, and returns the path of its file. */
function writeSecondVersion(): string {
  const file = `workflows/moviesWF${files.suffix}.v2.json`;
  files.write(file, JSON.stringify(definitionIn(files, movies.file, { version: 2 })));
  return file;
}

describe('plan and apply', () => {
  it('new definitions: plan writes nothing (exit 2), apply adds them, then plan finds nothing (exit 0)', async () => {
    const planned = await on.run('plan');
    expect(planned).toMatchObject({ exitCode: 2, stderr: '' });
    expect(planned.stdout).toMatch(/: plan [0-9a-f]{12}: 9 to add, 0 to change, 0 to remove; 0 unchanged\n$/);
    expect(planned.stdout).toContain(`--- /dev/null\n+++ ${movies.file}\n@@ -0,0 +1,`);
    expect(await on.registered()).toEqual([]);

    const applied = await on.run('apply', '--yes');
    expect(applied).toMatchObject({ exitCode: 0, stderr: '' });
    expect(applied.stdout).toContain('9 changes made; the engine matches the files');
    expect(await on.registered()).toEqual(everything);
    const order = applied.stdout.match(/(?<=^added {3})(task type|workflow|event handler)/gm) ?? [];
    expect(order).toEqual([...order].sort((a, b) => kinds.indexOf(a) - kinds.indexOf(b)));
    expect(new Set(order)).toEqual(new Set(kinds));

    const again = await on.run('plan');
    expect(again).toMatchObject({ exitCode: 0, stderr: '', stdout: `${engineUrl}: no changes; 9 unchanged\n` });
    expect(await on.run('apply')).toMatchObject({ exitCode: 0, stderr: '' });
  });
  const kinds = ['task type', 'workflow', 'event handler'];

  it('a changed task type: the diff omits values that the engine sets; after apply, nothing differs', async () => {
    await on.prepare();
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    const { exitCode, stdout } = await on.run('plan');
    expect(exitCode).toBe(2);
    const diff = stdout.split('\n').filter((line) => /^[-+@]/.test(line));
    expect(diff).toEqual([
      `--- engine: task type ${movies.task}`,
      `+++ ${movies.taskFile}`,
      expect.stringMatching(/^@@ -\d+,7 \+\d+,7 @@$/),
      '-  "responseTimeoutSeconds": 22,',
      '+  "responseTimeoutSeconds": 23,',
    ]);
    expect(stdout).not.toMatch(/createTime|updateTime|rateLimitPerFrequency/);
    expect((await on.run('plan', '--no-diff')).stdout).not.toContain('@@');
    expect((await on.run('apply', '--yes')).exitCode).toBe(0);
    expect((await on.run('plan')).exitCode).toBe(0);
  });

  it('a changed registered version: without --force, nothing is applied (exit 2); with it, everything is', async () => {
    await on.prepare();
    files.set(movies.file, ['description'], 'Another.');
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    const refused = await on.run('apply', '--yes');
    expect(refused).toMatchObject({ exitCode: 2, stderr: '' });
    expect(refused.stdout).toContain('registered version: needs --force');
    expect(refused.stdout).toContain('nothing was written: a registered workflow version differs');
    expect((await on.run('apply', '--yes', '--json')).json<PlanJson>()).toMatchObject({
      ok: false,
      outcome: 'refused',
    });
    expect((await on.run('plan', '--json')).json<PlanJson>().changes).toHaveLength(2);
    expect((await on.run('apply', '--yes', '--force')).exitCode).toBe(0);
    expect((await on.run('plan')).exitCode).toBe(0);
  });

  it('a new version beside a registered one needs no --force', async () => {
    await on.prepare();
    writeSecondVersion();
    expect((await on.run('apply', '--yes')).exitCode).toBe(0);
    expect(await on.registered()).toContain('workflow moviesWF v2');
  });

  it('--json prints one document with the digest of the plan and every change', async () => {
    const planned = (await on.run('plan', '--json')).json<PlanJson>();
    expect(planned).toMatchObject({ ok: false, unchanged: 0, onlyInEngine: [] });
    expect(planned.changes).toHaveLength(9);
    const applied = await on.run('apply', '--yes', '--json');
    expect(applied.json<PlanJson>()).toMatchObject({ ok: true, outcome: 'done', plan: planned.plan });
    expect(applied.json<PlanJson>().done).toHaveLength(9);
    expect((await on.run('plan', '--json')).json<PlanJson>()).toMatchObject({ ok: true, changes: [], unchanged: 9 });
  });
});

describe('running executions', () => {
  it('of two changed versions are counted only for their own version and for the task type', async () => {
    const second = writeSecondVersion();
    await on.prepare();
    const ids = [
      await on.startExecution(movies.workflow, 1),
      await on.startExecution(movies.workflow, 2),
      await on.startExecution(movies.workflow, 2),
    ];
    for (const file of [movies.file, second]) files.set(file, ['description'], 'Another.');
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    const { stdout } = await on.run('plan', '--no-diff');
    expect(stdout).toMatch(/moviesWF\w+ v1 .* 1 running execution keeps the old definition$/m);
    expect(stdout).toMatch(/moviesWF\w+ v2 .* 2 running executions keep the old definition$/m);
    expect(stdout).toMatch(/task type movies_intake\w+ .* 3 running executions keep the old definition$/m);
    const { changes } = (await on.run('plan', '--json')).json<PlanJson>();
    expect(changes.map(({ runningExecutions }) => runningExecutions)).toEqual([3, 1, 2]);

    await on.run('apply', '--yes', '--force');
    for (const id of ids) {
      await on.completeTask(movies.task);
      expect(ids).toContain(id);
    }
    for (const id of ids) expect(await on.statusOf(id)).toBe('COMPLETED');
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 24);
    expect((await on.run('plan', '--no-diff')).stdout).not.toContain('running');
  });

  it('of the workflow that publishes the event of a changed handler are counted for that handler', async () => {
    await on.prepare();
    const handler = `event-handlers/mdm-share${files.suffix}-{mis}.json`;
    // Starts the execution in a separate domain: otherwise, workers of a shared stack would take the task and end the
    // execution.
    const id = await on.startExecution(`mdmWF${files.suffix}`, 1, { mdm_notify: files.suffix });
    files.set(handler, ['condition'], 'true');
    expect((await on.run('plan', '--no-diff')).stdout).toContain(
      '1 running execution may still produce the event of this handler',
    );
    await on.send('DELETE', `/workflow/${id}`);
  });
});

describe('definitions that only the engine has', () => {
  it('are named and kept without --prune (exit 0)', async () => {
    const second = writeSecondVersion();
    await on.prepare();
    files.remove(second);
    const planned = await on.run('plan');
    expect(planned.exitCode).toBe(0);
    expect(planned.stdout).toContain(
      `Only in the engine, and left there (--prune removes them):\n  workflow ${movies.workflow} v2\n`,
    );
    expect((await on.run('apply', '--yes')).exitCode).toBe(0);
    expect(await on.registered()).toContain('workflow moviesWF v2');
  });

  it('are removed with --prune; the plan counts their running executions, which still complete', async () => {
    const second = writeSecondVersion();
    await on.prepare();
    const id = await on.startExecution(movies.workflow, 2);
    files.remove(second);
    const planned = await on.run('plan', '--prune');
    expect(planned.exitCode).toBe(2);
    expect(planned.stdout).toMatch(
      /^- workflow moviesWF\w+ v2 {2}not in the files {2}1 running execution keeps the old definition$/m,
    );
    expect(planned.stdout).toContain(`--- engine: workflow ${movies.workflow} v2\n+++ /dev/null\n@@ -1,`);
    const applied = await on.run('apply', '--prune', '--yes');
    expect(applied.exitCode).toBe(0);
    expect(await on.registered()).toEqual(everything);
    await on.completeTask(movies.task);
    expect(await on.statusOf(id)).toBe('COMPLETED');
    expect((await on.run('plan', '--prune')).exitCode).toBe(0);
  });

  it('a version that a route still starts is marked, and removed only with --force', async () => {
    const second = writeSecondVersion();
    await on.prepare();
    files.remove(second);
    files.replace('gateway.config.yml', 'name: moviesWF, version: 1', `name: ${movies.workflow}, version: 2`);
    const refused = await on.run('apply', '--prune', '--yes', '--no-diff');
    expect(refused).toMatchObject({ exitCode: 2, stderr: '' });
    expect(refused.stdout).toMatch(
      /^- workflow \S+ v2 {2}not in the files {2}started by route movies: needs --force$/m,
    );
    expect(refused.stdout).toContain(`workflow ${movies.workflow} v2 would be removed, but is started by route movies`);
    expect((await on.run('apply', '--prune', '--yes', '--force')).exitCode).toBe(0);
    expect(await on.registered()).toEqual(everything);
  });

  it('a version that a route starts is reported (exit 1) only if neither the files nor the engine has it', async () => {
    await on.prepare();
    const versions = `name: ${movies.workflow}, versions: { 1: 90, 2: 10 }`;
    files.replace('gateway.config.yml', 'name: moviesWF, version: 1', versions);
    const missing = await on.run('plan');
    expect(missing.exitCode).toBe(1);
    expect(missing.stderr).toContain(
      `route movies starts ${movies.workflow} v2, which neither the files nor the engine has\n`,
    );
    const second = writeSecondVersion();
    expect((await on.run('plan')).exitCode).toBe(2);
    await on.prepare();
    files.remove(second);
    expect((await on.run('plan')).exitCode).toBe(0);
    const refused = await on.run('apply', '--prune', '--yes', '--no-diff');
    expect(refused.stdout).toMatch(/started by route movies: needs --force$/m);
  });

  it('changes of every kind are made in order: handlers are removed first, and task types last', async () => {
    await on.prepare();
    const { suffix } = files;
    renameHandler();
    files.remove(movies.file);
    files.remove(movies.taskFile);
    writeFileSync(
      join(files.dir, `workflows/shortWF${suffix}.v1.json`),
      JSON.stringify(definitionIn(files, `workflows/lms-dwWF${suffix}.v1.json`, { name: `shortWF${suffix}` })),
    );
    const applied = await on.run('apply', '--prune', '--yes');
    expect(applied).toMatchObject({ exitCode: 0, stderr: '' });
    const steps = applied.stdout.split('\n').filter((line) => /^(added|removed) /.test(line));
    expect(steps.map((step) => step.replaceAll(suffix, ''))).toEqual([
      'removed event handler mdm',
      'added   workflow shortWF v1',
      'added   event handler patched',
      'removed workflow moviesWF v1',
      'removed task type movies_intake',
    ]);
  });

  it('removals through the router are refused before anything is done', async () => {
    const stack: Stack = await shareStack({ engineUrl, withWorkers: false });
    try {
      const second = writeSecondVersion();
      const ops = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'ops-secret' };
      const through = ['--router', stack.url, '--dir', files.dir, '--only', `*${files.suffix}*`];
      expect(await runCli(['apply', '--yes', ...through], ops)).toMatchObject({ exitCode: 0, stderr: '' });
      const id = await on.startExecution(movies.workflow, 2);
      files.remove(second);
      const planned = await runCli(['plan', '--prune', ...through], ops);
      expect(planned.exitCode).toBe(2);
      expect(planned.stdout).toContain('1 running execution keeps the old definition');
      const refused = await runCli(['apply', '--prune', '--yes', ...through], ops);
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toBe(
        'nothing was changed: the router does not forward removals; use --engine instead of --router\n',
      );
      expect(await on.registered()).toContain('workflow moviesWF v2');
      await on.send('DELETE', `/workflow/${id}`);
      const worker = { OPS_CLIENTID: 'worker', OPS_CLIENTSECRET: 'worker-secret' };
      const { exitCode, stderr } = await runCli(['plan', ...through], worker);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/responded with 403: /);
    } finally {
      await stack.stop();
    }
  });
});

describe('the confirmation', () => {
  /** Runs `apply` on a separate terminal, waits for the question, and types `answer`. */
  async function applyOnTerminal(answer: string): Promise<{ status: number; output: string }> {
    const command = [process.execPath, cliEntry, 'apply', '--engine', engineUrl, '--dir', files.dir, '--no-diff'];
    const scope = ['--only', `'*${files.suffix}*'`];
    const { PATH, HOME } = process.env;
    const terminal = spawn('script', ['-qec', [...command, ...scope].join(' '), '/dev/null'], {
      env: { ...compileCache, PATH, HOME, TERM: 'xterm-256color' },
    });
    let output = '';
    terminal.stdout.on('data', (chunk: Buffer) => {
      const wasAsked = output.includes('[y/N]');
      output += chunk.toString('utf8');
      if (!wasAsked && output.includes('[y/N]')) terminal.stdin.write(answer);
    });
    const [status] = (await once(terminal, 'close')) as [number];
    return { status, output };
  }

  it('without a terminal and without --yes, apply shows the plan, changes nothing, and exits with 1', async () => {
    const { exitCode, stdout, stderr } = await on.run('apply', '--no-diff');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('9 to add');
    expect(stderr).toContain('confirmation needs a terminal; use --yes');
    expect(await on.registered()).toEqual([]);
  });

  it('--json without --yes prints one document with the reason, and exits with 1', async () => {
    const result = await on.run('apply', '--json');
    expect(result.exitCode).toBe(1);
    expect(result.json()).toEqual({ ok: false, problems: ['nothing was changed: --json needs --yes'] });
  });

  it(
    'on a terminal, apply asks in colour; "no" changes nothing (exit 1), "yes" makes the changes (exit 0)',
    requires('terminal'),
    async () => {
      const no = await applyOnTerminal('n\r');
      expect(no.status).toBe(1);
      expect(no.output).toContain(`Make 9 changes at ${engineUrl}? [y/N]`);
      expect(no.output).toContain('\x1b[32m+ task type');
      expect(no.output).toContain('nothing was changed: the answer was not yes');
      expect(await on.registered()).toEqual([]);
      const yes = await applyOnTerminal('y\r');
      expect(yes.status).toBe(0);
      expect(await on.registered()).toEqual(everything);
    },
  );

  it('Ctrl-C at the question changes nothing, and apply exits with 1', requires('terminal'), async () => {
    const { status, output } = await applyOnTerminal('\x03');
    expect(status).toBe(1);
    expect(output).toContain('nothing was changed');
    expect(await on.registered()).toEqual([]);
  });
});

describe('interruptions and concurrent changes', () => {
  let gate: RecordingProxy;
  const calls = () => gate.requests.map(({ method, target }) => `${method} ${target}`);
  beforeEach(async () => {
    gate = await startRecordingProxy(engineUrl);
  });
  afterEach(() => gate.stop());

  const isWrite = (call: string) => !call.startsWith('GET ');
  /** Returns a predicate that is true only for the n-th write from now on. */
  const nthWrite = (n: number) => {
    let seen = 0;
    return (call: string) => isWrite(call) && ++seen === n;
  };

  const kills = [
    [7, 'after'],
    [9, 'before'],
    [1, 'after'],
    [2, 'before'],
  ] as const;
  it.each(kills.slice(0, byDepth(1, 4)))(
    'SIGKILL at write %i, %s the engine has received it: no dependency is missing, and a second apply does the rest',
    async (n, when) => {
      const held = gate.hold(nthWrite(n), when);
      const { process: child, result } = on.start('apply', ['--yes'], gate.url);
      await held;
      child.kill('SIGKILL');
      expect((await result).exitCode).toBe(-1);
      const done = when === 'after' ? n : n - 1;
      const registered = await on.registered();
      expect(registered).toHaveLength(done);
      // No registered definition lacks its dependencies: handlers come after all workflows, workflows after their task
      // types.
      const has = (kind: string) => registered.filter((title) => title.startsWith(kind)).length;
      if (has('event handler') > 0) expect(has('workflow')).toBe(6);
      if (has('workflow') > 0) expect(has('task type')).toBe(1);

      const planned = (await on.run('plan', '--json')).json<PlanJson>();
      expect(planned).toMatchObject({ unchanged: done });
      expect(planned.changes).toHaveLength(9 - done);
      expect((await on.run('apply', '--yes')).exitCode).toBe(0);
      expect(await on.registered()).toEqual(everything);
    },
  );

  it('SIGKILL in the middle of apply --prune: a second run does the rest', async () => {
    await on.prepare();
    files.remove(movies.file);
    files.remove(movies.taskFile);
    renameHandler();
    const held = gate.hold(nthWrite(3), 'before');
    const { process: child, result } = on.start('apply', ['--yes', '--prune'], gate.url);
    await held;
    child.kill('SIGKILL');
    await result;
    expect((await on.run('plan', '--prune', '--json')).json<PlanJson>().changes.map(({ name }) => name)).toEqual([
      movies.workflow,
      movies.task,
    ]);
    expect((await on.run('apply', '--prune', '--yes')).exitCode).toBe(0);
    expect((await on.run('plan', '--prune')).exitCode).toBe(0);
  });

  it('SIGTERM: apply finishes the current step, does not begin the rest, and exits with 1', async () => {
    const held = gate.hold(nthWrite(2), 'before');
    const { process: child, result } = on.start('apply', ['--yes'], gate.url);
    await held;
    child.kill('SIGTERM');
    gate.release();
    const { exitCode, stderr } = await result;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('interrupted: 2 of 9 changes made; run `apply` again for the rest');
    expect(await on.registered()).toHaveLength(2);
  });

  it('when the engine becomes unreachable, apply says what was done (exit 1); a second one does the rest', async () => {
    const held = gate.hold(nthWrite(3), 'before');
    const result = on.run('apply', '--yes', '--engine', gate.url);
    await held;
    await gate.stop();
    const { exitCode, stderr } = await result;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('does not respond');
    expect(stderr).toContain('2 of 9 changes made; run `apply` again for the rest');
    expect((await on.run('apply', '--yes')).exitCode).toBe(0);
    gate = await startRecordingProxy(engineUrl);
  });

  it('when the engine changes between the plan and the first write, nothing is written (exit 2)', async () => {
    await on.prepare();
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    // `apply` reads the definitions a second time after the confirmation.
    let looks = 0;
    const held = gate.hold((call) => call === 'GET /api/metadata/taskdefs' && ++looks === 2, 'before');
    const result = on.run('apply', '--yes', '--engine', gate.url);
    await held;
    const foreign = definitionIn(files, movies.taskFile, { responseTimeoutSeconds: 99 });
    await on.send('PUT', '/metadata/taskdefs', foreign);
    gate.release();
    const { exitCode, stdout } = await result;
    expect(exitCode).toBe(2);
    expect(stdout).toContain('the engine has changed since the plan was shown; 0 of 1 change made');
    expect(stdout).toContain(`  change task type ${movies.task}\n`);
    expect(calls().filter(isWrite)).toEqual([]);
    expect((await on.run('plan')).stdout).toContain('-  "responseTimeoutSeconds": 99,');
  });

  it('when the engine changes during apply, changes that were not shown are not made (exit 1)', async () => {
    await on.prepare();
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    files.set(`event-handlers/mdm${files.suffix}.json`, ['condition'], 'true');
    const held = gate.hold(isWrite, 'after');
    const result = on.run('apply', '--yes', '--engine', gate.url);
    await held;
    const handler = definitionIn(files, `event-handlers/mdm${files.suffix}.json`, { condition: '1 == 1' });
    await on.send('PUT', '/event', handler);
    gate.release();
    const { exitCode, stderr } = await result;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('1 of 2 changes made. Run `plan` again. These changes were not in the plan:');
    expect(calls().filter(isWrite)).toEqual(['PUT /api/metadata/taskdefs']);
  });

  it('--plan applies the plan with this digest; with another digest, nothing is written (exit 2)', async () => {
    const { plan } = (await on.run('plan', '--json')).json<PlanJson>();
    const other = await on.run('apply', '--yes', '--plan', '000000000000');
    expect(other.exitCode).toBe(2);
    expect(other.stdout).toContain(`nothing was written: this is plan ${plan}, not 000000000000`);
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    expect((await on.run('apply', '--yes', '--plan', plan)).exitCode).toBe(2);
    expect(await on.registered()).toEqual([]);
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 22);
    expect((await on.run('apply', '--yes', '--plan', plan)).exitCode).toBe(0);
  });

  it('three concurrent applies of the same files: all succeed, and the engine matches the files', async () => {
    const results = await Promise.all([1, 2, 3].map(() => on.run('apply', '--yes', '--no-diff')));
    expect(results.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
      results.map(() => ({ exitCode: 0, stderr: '' })),
    );
    expect(await on.registered()).toEqual(everything);
    expect((await on.run('plan')).exitCode).toBe(0);
  });

  it('two concurrent applies: the slower one finds that the other has already made the changes (exit 0)', async () => {
    const held = gate.hold((call) => call === 'POST /api/metadata/workflow', 'before');
    const slow = on.run('apply', '--yes', '--engine', gate.url);
    await held;
    expect((await on.run('apply', '--yes')).exitCode).toBe(0);
    gate.release();
    const { exitCode, stdout, stderr } = await slow;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^added {3}workflow \S+ v1 {2}\(already made by somebody else\)$/m);
    expect(await on.registered()).toEqual(everything);
  });

  it('two concurrent applies of different files: one reports that the engine has changed (exit 1)', async () => {
    await on.prepare();
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    const held = gate.hold(isWrite, 'before');
    const slow = on.run('apply', '--yes', '--engine', gate.url);
    await held;
    const other = definitionIn(files, movies.taskFile, { responseTimeoutSeconds: 24 });
    await on.send('PUT', '/metadata/taskdefs', other);
    const seen = gate.hold((call) => call === 'GET /api/metadata/taskdefs', 'before');
    gate.release();
    await seen;
    await on.send('PUT', '/metadata/taskdefs', other);
    gate.release();
    const { exitCode, stderr } = await slow;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('the engine has changed since the plan was shown; 1 of 1 change made');
  });
});

describe('dump', () => {
  let target: string;
  beforeEach(() => {
    target = mkdtempSync(join(tmpdir(), 'service-router-dump-'));
  });
  afterEach(() => rmSync(target, { recursive: true, force: true }));
  const into = (...options: string[]) => on.run('dump', '--dir', target, ...options);
  const filesIn = () =>
    (readdirSync(target, { recursive: true }) as string[]).filter((name) => name.endsWith('.json')).toSorted();

  it('writes the layout of the repository into an empty directory; a plan from there shows no changes', async () => {
    await on.prepare();
    const dumped = await into();
    expect(dumped).toMatchObject({ exitCode: 0, stderr: '' });
    expect(dumped.stdout).toContain(`${engineUrl}: 9 new, 0 changed, 0 unchanged, in ${target}`);
    const { suffix } = files;
    expect(filesIn().map((name) => name.replaceAll(suffix, ''))).toEqual([
      'event-handlers/mdm-share-002.json',
      'event-handlers/mdm.json',
      'workflows/college-adaptorWF.v1.json',
      'workflows/college-adaptorWF.v2.json',
      'workflows/lms-dwWF.v1.json',
      'workflows/mdm-shareWF.v1.json',
      'workflows/mdmWF.v1.json',
      'workflows/moviesWF.v1.json',
      'workflows/tasks/movies_intake.json',
    ]);
    expect(readFileSync(join(target, movies.file), 'utf8')).not.toMatch(/createTime|decisionCases|maskedFields/);
    // The other task types belong to the product; `check` requires them for the workflows.
    for (const name of ['college-adaptor_intake', 'lms-dw_intake', 'mdm_notify', 'mdm_share']) {
      writeFileSync(
        join(target, `workflows/tasks/${name}.json`),
        readFileSync(join(files.dir, `workflows/tasks/${name}.json`)),
      );
    }
    const planned = await on.run('plan', '--dir', target, '--prune');
    expect(planned).toMatchObject({ exitCode: 0, stdout: `${engineUrl}: no changes; 9 unchanged\n` });
  });

  it("writes all of the product's own definitions; a plan with --prune from there shows no changes", async () => {
    const names = definitionNames(productDir);
    const product = ['--engine', engineUrl, '--dir', target, ...names.flatMap((name) => ['--only', name])];
    const dumped = await runCli(['dump', ...product]);
    expect(dumped).toMatchObject({ exitCode: 0, stderr: '' });
    expect(dumped.stdout).not.toContain('`check` and `plan` do not');
    expect(filesIn()).toHaveLength(names.length);
    const planned = await runCli(['plan', ...product, '--prune']);
    const stdout = `${engineUrl}: no changes; ${names.length} unchanged\n`;
    expect(planned).toMatchObject({ exitCode: 0, stdout, stderr: '' });
  });

  it('keeps files whose definitions are equivalent but written differently', async () => {
    await on.prepare();
    const before = readFileSync(join(files.dir, movies.file), 'utf8');
    const { exitCode, stdout } = await on.run('dump');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('0 new, 0 changed, 9 unchanged');
    expect(readFileSync(join(files.dir, movies.file), 'utf8')).toBe(before);
  });

  it('shows and keeps files with different definitions (exit 2), and overwrites them with --force', async () => {
    await on.prepare();
    files.set(movies.taskFile, ['responseTimeoutSeconds'], 23);
    files.remove(movies.file);
    const refused = await on.run('dump');
    expect(refused).toMatchObject({ exitCode: 2, stderr: '' });
    expect(refused.stdout).toContain(`--- ${movies.taskFile}\n+++ engine: task type ${movies.task}\n`);
    expect(refused.stdout).toContain('-  "responseTimeoutSeconds": 23,\n+  "responseTimeoutSeconds": 22,');
    expect(refused.stdout).toContain('nothing was written: 1 file would be overwritten');
    expect(readdirSync(join(files.dir, 'workflows'))).not.toContain(movies.file.slice('workflows/'.length));
    const forced = await on.run('dump', '--force');
    expect(forced.stdout).toContain('1 new, 1 changed, 7 unchanged');
    expect((await on.run('plan')).exitCode).toBe(0);
    expect((await on.run('dump', '--json')).json()).toMatchObject({ ok: true, directory: files.dir });
  });

  it('treats a file that is not JSON as one that differs', async () => {
    await on.prepare();
    files.write(movies.file, '{ "name": ');
    const { exitCode, stdout } = await on.run('dump');
    expect(exitCode).toBe(2);
    expect(stdout).toContain('-{ "name": \n');
    expect((await on.run('dump', '--force')).exitCode).toBe(0);
    expect((await on.run('plan')).exitCode).toBe(0);
  });

  it('reports names that the engine does not have, and exits with 1', async () => {
    const { exitCode, stderr } = await into('--only', 'nope-*');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`the engine has no definitions with a name like *${files.suffix}* or nope-*`);
  });

  it('control characters in a definition are escaped for the terminal', async () => {
    files.set(movies.taskFile, ['description'], 'clear \u001b[2J \u009b2J');
    const { stdout } = await on.run('plan');
    expect(stdout).toContain('+  "description": "clear \\u001b[2J \\u009b2J"');
  });

  it('refuses a name that is not a valid file name before it writes anything, and exits with 1', async () => {
    const name = `strange name ${files.suffix}`;
    const definition = definitionIn(files, movies.taskFile, { name });
    await on.send('POST', '/metadata/taskdefs', [definition]);
    const { exitCode, stderr } = await into();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`the name of the task type "${name}" cannot be used as a file name`);
    expect(filesIn()).toEqual([]);
    await on.send('DELETE', `/metadata/taskdefs/${encodeURIComponent(name)}`);
  });

  it('writes a definition that the product does not allow, and lists the problems that check will report', async () => {
    const definition = definitionIn(files, movies.taskFile, { inputKeys: ['a'] });
    await on.send('POST', '/metadata/taskdefs', [definition]);
    const { exitCode, stdout } = await into();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('The engine accepts these, but `check` and `plan` do not:');
    expect(stdout).toMatch(new RegExp(`^${movies.taskFile}:\\d+:\\d+: inputKeys: unknown key$`, 'm'));
  });
});

describe.each(['plan', 'apply'])('%s with bad files', (command) => {
  it('shows the position of an error in a definition file, registers nothing, and exits with 1', async () => {
    files.write(movies.file, '{');
    const { exitCode, stdout, stderr } = await on.run(command, '--no-diff');
    expect(exitCode).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(new RegExp(`^${movies.file}:1:2: `, 'm'));
    expect(await on.registered()).toEqual([]);
  });

  it('refuses inconsistent files as check does, and exits with 1', async () => {
    files.remove(movies.taskFile);
    const { exitCode, stderr } = await on.run(command);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`there is no workflows/tasks/${movies.task}.json`);
  });

  it('reports that --only matches nothing, and exits with 1', async () => {
    const { exitCode, stderr } = await runCli([command, '--engine', engineUrl, '--dir', files.dir, '--only', 'nope-*']);
    expect(exitCode).toBe(1);
    expect(stderr).toBe('no definition has a name like nope-*, in the files or in the engine\n');
  });
});
