// Tests of a router whose reload switches to a new workflow version and adds a college: its reconciler repairs lost
// events of the new version and of the new college.

import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, callerFor } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { reload } from '../stack/reload.ts';
import { type Counts, readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { lostEventsOf } from './lost-events.ts';

const productDir = fileURLToPath(new URL('../..', import.meta.url));
const engineUrl = engineOfRun().url;
const { withoutHandler, untilEventsTaken } = lostEventsOf(engineOfRun());
const version = 100_000 + Number.parseInt(randomBytes(2).toString('hex'), 16);

/** A copy of the product whose definitions can be changed. */
const dir = mkdtempSync(join(tmpdir(), 'service-router-product-'));
const properties = join(dir, 'router.properties');
const defaults = join(dir, 'config/default.properties');
const collegeLine = 'adaptor.002.domain=002\n';
let stack: Stack;
let router: Program;

beforeAll(async () => {
  const left = new Set(['node_modules', 'test', 'bench', 'docs', '.git', '.run']);
  cpSync(productDir, dir, { recursive: true, filter: (source) => !left.has(relative(productDir, source)) });
  symlinkSync(join(productDir, 'node_modules'), join(dir, 'node_modules'));
  writeFileSync(defaults, readFileSync(defaults, 'utf8').replace(collegeLine, ''));
  writeFileSync(properties, 'adaptor.workflowVersion=2\n');
  stack = await shareStack({ engineUrl });
  const environment = {
    ...stack.routerEnv,
    CONFIG_URL: pathToFileURL(properties).href,
    // Short intervals, so that tests need not wait long. The short look-back excludes executions of other test files.
    ...{ RECONCILER_INTERVALMS: '500', RECONCILER_AFTERMS: '1500', RECONCILER_LOOKBACKSECONDS: '2' },
  };
  // The router runs the gateway in its working directory.
  router = await startProgram(join(dir, 'gateway/main.ts'), environment, dir);
});
afterAll(async () => {
  await router?.stop();
  await stack?.stop();
  await engineApi(engineUrl).send('DELETE', `/metadata/workflow/college-adaptorWF/${version}`);
  rmSync(dir, { recursive: true, force: true });
});

const counts = () => readCounts(String(router.ready['operationsUrl']));
const startedFor = (name: string, counted: Counts) =>
  counted[`router_reconciled_total{case="${name}",action="started"}`] ?? 0;

async function addDefinitions(): Promise<void> {
  const known = JSON.parse(readFileSync(join(dir, 'workflows/college-adaptorWF.v2.json'), 'utf8')) as object;
  const definition = { ...known, version };
  writeFileSync(join(dir, `workflows/college-adaptorWF.v${version}.json`), JSON.stringify(definition));
  await engineApi(engineUrl).send('PUT', '/metadata/workflow', [definition]);
}

it('lost events of the new version and of the added college are repaired without a restart', async () => {
  await addDefinitions();
  writeFileSync(properties, `adaptor.workflowVersion=${version}\n${collegeLine}`);
  expect(await reload(router)).toBe('applied');
  const demo = await callerFor(String(router.ready['url']));
  const cccid = `L${randomBytes(4).toString('hex').toUpperCase()}`;
  await withoutHandler('mdm', () =>
    withoutHandler('mdm-share-002', async () => {
      const answer = await demo('/adaptor/001/mock/colleges/001/persons/0318204', {
        method: 'PATCH',
        json: { cccid },
      });
      expect(answer.status).toBe(200);
      const source = String(answer.headers['x-execution-id']);
      const execution = await engineApi(engineUrl).execution(source);
      expect(execution.workflowVersion).toBe(version);
      await untilEventsTaken('college-adaptorWF:person_patched');
      const log = async () =>
        (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${source}`)).json<unknown[]>();
      await pollUntil('MDM to hear of the PATCH', async () => (await log()).length > 0);
      const there = `${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/B00417733`;
      await pollUntil(
        'the added college to get the cccid',
        async () => (await call(there)).json<{ cccid: string }>().cccid === cccid,
      );
    }),
  );
  // A busy engine may take so long to publish an event that its task counts as stuck. A repair may take effect before
  // it is counted.
  for (const lost of ['event_lost', 'share_lost']) {
    await pollUntil(`${lost} to be counted`, async () => {
      const repaired = await counts();
      return [lost, 'event_stuck'].some((name) => startedFor(name, repaired) > 0);
    });
  }
});
