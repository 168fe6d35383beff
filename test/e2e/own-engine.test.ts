// Tests of `npm start` with the CONDUCTOR_URL of an empty engine, for each store. They are opt-in, because they start
// three engines.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { startRedisEngine } from '../../dev/engine/start-redis-engine.ts';
import { pathOf, type Requirement, requires } from '../run/requirements.ts';
import { type LaunchedStack, launchStack } from '../secrets/launched-stack.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { newCccid } from '../stack/new-cccid.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { startPostgresql } from '../stack/postgresql-server.ts';

interface OwnEngine {
  readonly url: string;
  /** Environment variables that the router needs in addition to the engine's address. */
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

const stores: readonly [store: string, needs: readonly Requirement[], start: (dir: string) => Promise<OwnEngine>][] = [
  ['SQLite', [], async (stateDir) => ({ ...(await startEngine(await engineOptions(stateDir))), env: {} })],
  ['PostgreSQL', ['postgresql'], startOnPostgresql],
  [
    'Redis',
    ['redis'],
    async (stateDir) => {
      const engine = await startRedisEngine(await engineOptions(stateDir));
      return { url: engine.url, env: { REDIS_URL: engine.redis.url }, stop: () => engine.stop() };
    },
  ],
];

/** Returns the settings that all engines share. */
async function engineOptions(stateDir: string) {
  return { port: await findFreePort(), stateDir, say: () => undefined };
}

async function startOnPostgresql(stateDir: string): Promise<OwnEngine> {
  const server = await startPostgresql({ bin: dirname(pathOf('postgres') ?? ''), dir: stateDir });
  const tuning = { properties: [postgresqlProperties], database: server.database };
  const engine = await startEngine({ ...(await engineOptions(stateDir)), tuning });
  const stop = async () => {
    await engine.stop();
    await server.process.stop();
  };
  return { url: engine.url, env: {}, stop };
}

describe.skipIf(process.env['CONDUCTOR_URL'] !== undefined).each(stores)(
  'npm start with the CONDUCTOR_URL of an engine on %s',
  (store, needs, start) => {
    describe('that has never been used', requires('full', ...needs), () => {
      const folder = mkdtempSync(join(tmpdir(), 'service-router-own-engine-'));
      let engine: OwnEngine;
      let stack: LaunchedStack;
      let demo: Caller;

      beforeAll(async () => {
        // The database server runs as another user when this process runs as root.
        chmodSync(folder, 0o711);
        engine = await start(folder);
        stack = await launchStack({ CONDUCTOR_URL: engine.url, ...engine.env });
        demo = await callerFor(stack.url);
      }, 300_000);
      afterAll(async () => {
        await stack?.stop();
        await engine?.stop();
        rmSync(folder, { recursive: true, force: true });
      });

      const ready = async (operationsUrl: string) => {
        const response = await call(`${operationsUrl}/health/ready`);
        return [response.status, response.json()];
      };

      it('registers its definitions, and readiness reports nothing missing', async () => {
        const workflows = (await call(`${engine.url}/api/metadata/workflow`)).json<{ name: string }[]>();
        expect(workflows.map(({ name }) => name)).toEqual(expect.arrayContaining(['moviesWF', 'mdmWF']));
        expect(await ready(stack.operationsUrl)).toEqual([200, { status: 'ready', reasons: {}, notices: {} }]);
      });

      it('GET → 200', async () => {
        expect((await demo('/movies/Metropolis')).status).toBe(200);
      });

      it('PATCH → 200, and MDM shares the change with the other college', async () => {
        const cccid = newCccid();
        const response = await demo('/adaptor/001/mock/colleges/001/persons/0320991', {
          method: 'PATCH',
          json: { cccid },
        });
        expect(response.status).toBe(200);
        // The engine may take a minute to subscribe to the queue of a new handler.
        await pollUntil(
          'the other college to have the cccid',
          async () =>
            (await demo('/adaptor/002/mock/colleges/002/persons/B00418052')).json<{ cccid?: string }>().cccid === cccid,
          { timeoutMs: 120_000 },
        );
      });

      const saysWhatIsMissing = async () => {
        await stack.stop();
        stack = await launchStack({ CONDUCTOR_URL: engine.url });
        const missing = 'the engine has no index of executions and redis.url is not set';
        expect(await ready(stack.operationsUrl)).toEqual([
          200,
          expect.objectContaining({ notices: { executions: [expect.stringContaining(missing)] } }),
        ]);
        expect(stack.written().get('router.log')).toContain(missing);
      };
      if (store === 'Redis')
        it('without redis.url, readiness and the log say what does not work', saysWhatIsMissing, 90_000);
    });
  },
);
