// Tests of a third college that `add-college` adds to a running stack: it receives requests, and the changes that a
// PATCH makes at another college.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { createCollegeAdaptor } from '../../dev/back-ends/college-adaptor.ts';
import { respondWithErrors } from '../../dev/back-ends/json-response.ts';
import { createPerson } from '../../dev/back-ends/person-fields.ts';
import { insertPerson } from '../../dev/back-ends/person-store.ts';
import { openStore, type Store } from '../../dev/back-ends/store.ts';
import { type CliResult, runCli } from '../cli/run-cli.ts';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { requires } from '../run/requirements.ts';
import { call, callerFor } from '../stack/client.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const mis = '003';
const person = createPerson({ misCode: mis, sisPersonId: 'C0042' }, { firstName: 'Ines', lastName: 'Morado' });
const engineUrl = engineOfRun().url;
const adaptorDir = mkdtempSync(join(tmpdir(), 'service-router-adaptor-'));
let store: Store;
let adaptor: Server;
let copy: CopyOfProduct;
let stack: Stack;

beforeAll(async () => {
  store = openStore(adaptorDir, (opened) => insertPerson(opened, person));
  const app = express()
    .use(createCollegeAdaptor(store, mis))
    .use(respondWithErrors(createLog('adaptor', 'silent')));
  adaptor = createServer(app);
  await new Promise<void>((resolve) => adaptor.listen(0, '127.0.0.1', resolve));
  copy = copyOfProduct();
  const CONFIG_URL = pathToFileURL(join(copy.dir, 'config/default.properties')).href;
  stack = await startStack({ engineUrl, router: { CONFIG_URL }, workers: { CONFIG_URL } });
});
afterAll(async () => {
  await stack?.stop();
  adaptor?.close();
  store?.close();
  copy?.dispose();
  rmSync(adaptorDir, { recursive: true, force: true });
  await call(`${engineUrl}/api/event/mdm-share-${mis}`, { method: 'DELETE' });
});

const cli = (...args: string[]): Promise<CliResult> => runCli([...args, '--dir', copy.dir]);
const recordThere = (cccid: string) => JSON.stringify(store.all('SELECT record FROM persons')).includes(cccid);

/**
 * Registers the new college as an interested system in MDM, and maps a person of college 001 to a person of the new
 * college.
 */
async function tellMdm(): Promise<void> {
  const registered = await call(`${stack.backEndsUrl}/mdm/interested-systems/${mis}`, { method: 'PUT' });
  expect(registered.status).toBe(201);
  const database = new DatabaseSync(join(stack.stateDir, 'back-ends.sqlite'));
  const statement = `INSERT INTO crosswalk SELECT ?, ?, golden_id FROM crosswalk WHERE mis = '001' AND sis_person_id = '0319375'`;
  database.prepare(statement).run(mis, person.sisPersonId);
  database.close();
}

// This test spends most of its time waiting for the engine to refresh its event handlers.
it(
  'a college is served and receives shared changes after add-college, apply, a reload and a start of its workers',
  { ...requires('full'), timeout: 180_000 },
  async () => {
    const demo = await callerFor(stack.url);
    const persons = `/adaptor/${mis}/mock/colleges/${mis}/persons/${person.sisPersonId}`;
    expect((await demo(persons)).status).toBe(404);

    const url = `http://127.0.0.1:${(adaptor.address() as AddressInfo).port}`;
    expect(await cli('add-college', mis, '--url', url)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await cli('check')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await cli('apply', '--yes', '--only', `mdm-share-${mis}`, '--engine', engineUrl)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('1 change made'),
    });
    stack.router.process.kill('SIGHUP');
    await stack.addWorkers({ WORKERS_DOMAIN: mis });

    const found = await pollUntil('the new college to respond', async () => {
      const response = await demo(persons);
      return response.status === 200 && response;
    });
    expect(found.json()).toMatchObject({ sisPersonId: person.sisPersonId, cccid: null });

    await tellMdm();
    const cccid = newCccid();
    const patched = await demo('/adaptor/001/mock/colleges/001/persons/0319375', {
      method: 'PATCH',
      json: { cccid },
    });
    expect(patched.status).toBe(200);
    // The engine refreshes its event handlers once a minute.
    await pollUntil('the PATCH to reach the new college', () => recordThere(cccid), { timeoutMs: 100_000 });
  },
);
