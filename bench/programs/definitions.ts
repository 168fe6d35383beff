// Registers definitions with the engine of a run: the product's own, and copies of one workflow for the targets that
// bypass the router.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootDir } from './program.ts';

/** The workflow that is copied: a single SIMPLE task that makes one request. */
const model = { workflow: 'moviesWF', task: 'movies_intake' } as const;

/**
 * A copy of the workflow and of its task type under other names, so that workers of other targets do not take the tasks
 * of the copy.
 */
export interface BenchWorkflow {
  readonly workflow: string;
  readonly task: string;
}

/** The copy whose tasks the bench itself polls. */
export const floorWorkflow: BenchWorkflow = { workflow: 'bench-floorWF', task: 'bench-floor_intake' };
/** The copy whose tasks are polled by the worker with the SDK's defaults. */
export const sdkWorkflow: BenchWorkflow = { workflow: 'bench-sdkWF', task: 'bench-sdk_intake' };

/** @throws Error with the output of the CLI or the response from the engine */
export async function registerDefinitions(engineUrl: string): Promise<void> {
  await registerProduct(engineUrl);
  await Promise.all([floorWorkflow, sdkWorkflow].map((copy) => registerCopy(engineUrl, copy)));
}

async function registerProduct(engineUrl: string): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', 'cli/main.ts', 'register', '--engine', engineUrl];
  const child = spawn(process.execPath, args, { cwd: rootDir, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the definitions were not registered:\n${output}`);
}

async function registerCopy(engineUrl: string, copy: BenchWorkflow): Promise<void> {
  const taskDef = await readRenamed(`workflows/tasks/${model.task}.json`, copy);
  const definition = await readRenamed(`workflows/${model.workflow}.v1.json`, copy);
  await send(`${engineUrl}/api/metadata/taskdefs`, 'POST', `[${taskDef}]`);
  await send(`${engineUrl}/api/metadata/workflow`, 'PUT', `[${definition}]`);
}

async function readRenamed(path: string, { workflow, task }: BenchWorkflow): Promise<string> {
  const text = await readFile(join(rootDir, path), 'utf8');
  return text.replaceAll(model.workflow, workflow).replaceAll(model.task, task);
}

async function send(url: string, method: string, body: string): Promise<void> {
  const response = await fetch(url, { method, headers: { 'content-type': 'application/json' }, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
}
