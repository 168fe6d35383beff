// Routers whose adaptor route starts several versions of a workflow that no other test file uses, and workers for these
// versions.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Task } from '#lib/conductor/types.ts';
import { createToken, type SigningKey } from '../plugins/oauth2/forge.ts';
import { startCheckedRouter } from '../stack/checked-router.ts';
import { callerWith, checkAnswersOf } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { handWorker } from '../stack/hand-worker.ts';
import { issuerKey } from '../stack/issuer-key.ts';
import type { Program } from '../stack/program.ts';
import { reload } from '../stack/reload.ts';
import { audience, shareStack, type Stack } from '../stack/stack.ts';

/** Behaviour of the workers of a version: returns the fields of a task's result. */
export type Behaviour = (task: Task) => object;

export interface VersionedRouter {
  readonly url: string;
  readonly operationsUrl: string;
  readonly program: Program;
  readonly gatewayConfigFile: string;
}

/** Returns a behaviour that responds with the number of the version. */
export const answers =
  (version: number, statusCodeValue = 200): Behaviour =>
  () => ({
    status: 'COMPLETED',
    outputData: {
      outbound: { statusCodeValue, headers: { 'content-type': 'text/plain' }, body: `version ${version}` },
    },
  });

/** A behaviour that fails the task. */
export const fails: Behaviour = () => ({ status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion: 'no idea' });

/** Registers a workflow, and returns functions that start routers and workers for it. @param versions its versions */
export async function startVersionedRouters(engineUrl: string, versions: readonly number[]) {
  const suffix = randomBytes(4).toString('hex');
  const workflow = `versionsWF-${suffix}`;
  const taskTypes = new Map(versions.map((version) => [version, `versions_${suffix}_${version}`]));
  const domain = `versions-${suffix}`;
  const dir = mkdtempSync(join(tmpdir(), 'service-router-versions-'));
  const stack = await shareStack({ engineUrl, withWorkers: false, anyAnswer: true });
  const key = await issuerKey(stack);
  const engine = engineApi(engineUrl);
  const { taskDefs, workflows } = definitionsOf(workflow, taskTypes);
  await engine.send('POST', '/metadata/taskdefs', taskDefs);
  await engine.send('PUT', '/metadata/workflow', workflows);
  const behaviours = new Map(versions.map((version) => [version, answers(version)]));
  const routers: Program[] = [];
  const ending = new AbortController();
  const loops: Promise<void>[] = [];
  return {
    workflow,
    /** Behaviour of the workers of each version. */
    behaviours,
    /** Starts a router with these lines in place of the adaptor route's `version`. */
    async start(pins: string, env: Record<string, string> = {}): Promise<VersionedRouter> {
      const name = `router-${routers.length}`;
      const file = join(dir, `${name}.yml`);
      writeFileSync(file, mapWith(workflow, pins));
      const own = { ADAPTOR_001_DOMAIN: domain, ROUTER_GATEWAYCONFIGFILE: file };
      const program = await startCheckedRouter({ ...stack.routerEnv, ...own, ...env });
      routers.push(program);
      const { url = '', operationsUrl = '' } = program.ready;
      return { url, operationsUrl, program, gatewayConfigFile: file };
    },
    /** Reloads a running router with other lines in place of the adaptor route's `version`. */
    async reload({ url, program, gatewayConfigFile }: VersionedRouter, pins: string) {
      writeFileSync(gatewayConfigFile, mapWith(workflow, pins));
      if ((await reload(program)) === 'refused') throw new Error(`the router refuses ${pins}`);
      await checkAnswersOf(url);
    },
    /** Starts, for each version, one worker that polls a router; each version has its own task type. */
    async work(router: VersionedRouter) {
      for (const [version, taskType] of taskTypes) {
        const worker = await handWorker(router.url, taskType, domain);
        loops.push(
          (async () => {
            while (!ending.signal.aborted) {
              const tasks = await worker.poll({ count: 20, timeoutMs: 500 });
              await Promise.all(tasks.map((task) => worker.reportAs(task, behaviours.get(version)?.(task) ?? {})));
            }
          })(),
        );
      }
    },
    /** Returns a client with this id. @param scope scope of its access token */
    client: (url: string, id: string, scope = '') => callerWith(url, tokenFor(stack, key, { id, scope })),
    async stop() {
      ending.abort();
      await Promise.all(loops);
      for (const router of routers) await router.stop();
      for (const [version, taskType] of taskTypes) {
        await engine.send('DELETE', `/metadata/workflow/${workflow}/${version}`);
        await engine.send('DELETE', `/metadata/taskdefs/${taskType}`);
      }
      await stack.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export type VersionedRouters = Awaited<ReturnType<typeof startVersionedRouters>>;

function tokenFor({ issuer }: Stack, key: SigningKey, { id, scope }: { id: string; scope: string }): string {
  const mint = { issuer, audience, nowSeconds: () => Date.now() / 1000 };
  return createToken(key, mint, { claims: { client_id: id, sub: id, scope: `sisdata_W ${scope}`.trim() } });
}

function mapWith(workflow: string, pins: string): string {
  const shipped = readFileSync('gateway.config.yml', 'utf8');
  const place = '              name: college-adaptorWF\n              version: ${adaptor.workflowVersion}\n';
  if (!shipped.includes(place)) throw new Error('gateway.config.yml does not have the expected adaptor route');
  return shipped.replace(place, `              name: ${workflow}\n              ${pins}\n`);
}

/** Returns the definitions to register: one task type per version, and versions of the workflow with only that task. */
function definitionsOf(name: string, taskTypes: ReadonlyMap<number, string>) {
  const common = { ownerEmail: 'service-router@example.org' };
  const taskDefs = [...taskTypes.values()].map((taskType) => ({
    ...{ ...common, name: taskType, retryCount: 0, timeoutSeconds: 0, timeoutPolicy: 'TIME_OUT_WF' },
    responseTimeoutSeconds: 90,
  }));
  const workflows = [...taskTypes].map(([version, taskType]) => ({
    ...{ ...common, name, version, schemaVersion: 2, restartable: false, inputParameters: ['inbound'] },
    tasks: [
      {
        ...{ name: taskType, taskReferenceName: 'intake', type: 'SIMPLE' },
        inputParameters: { inbound: '${workflow.input.inbound}' },
      },
    ],
    outputParameters: { outbound: '${intake.output.outbound}' },
  }));
  return { taskDefs, workflows };
}
