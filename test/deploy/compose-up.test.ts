// Opt-in tests of the production-like Compose stack in real containers, which need Docker and images
// (docs/how-to/deploy-compose.md).

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type RouterAnswer } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type ComposeProject, createComposeProject } from './compose-project.ts';
import { composeVariables } from './deployment-files.ts';
import { requires } from '../run/requirements.ts';

/** Builds the images, unless SERVICE_ROUTER_VERSION names a version, whose images are then used. */
const build = process.env['SERVICE_ROUTER_VERSION'] === undefined ? ['--build'] : ['--no-build'];
const minutes = 60_000;

describe('docker compose up', requires('full', 'compose', 'docker'), () => {
  let project: ComposeProject;

  beforeAll(async () => {
    // Printed because a result means little without the versions that produced it.
    for (const name of composeVariables().keys())
      if (/_IMAGE$|_VERSION$/.test(name)) console.log(`${name}: ${process.env[name] ?? 'as in docker-compose.yml'}`);
    project = await createComposeProject();
    await bringUp();
  }, 20 * minutes);
  afterAll(() => project?.remove(), 3 * minutes);

  /**
   * Starts the stack. Waits until every container is healthy, then until both routers are ready, which means that
   * workers of every task type poll.
   */
  async function bringUp(): Promise<void> {
    try {
      await project.run('up', '--detach', '--wait', '--quiet-pull', ...build);
    } catch (error) {
      const logs = await project.run('logs', '--no-color', '--tail=30').catch(() => '');
      throw new Error(`${(error as Error).message}\n${logs}`, { cause: error });
    }
    await untilReady();
  }
  const untilReady = () => {
    const areReady = () =>
      health('ready').then(
        () => true,
        () => false,
      );
    return pollUntil('both routers to be ready', areReady, { timeoutMs: 2 * minutes, everyMs: 1_000 });
  };
  const routers = ['router-a', 'router-b'];
  const health = (question: string) =>
    Promise.all(routers.map((name) => project.run('exec', '-T', name, 'node', 'deploy/image/health.mjs', question)));

  /** Returns the response from a URL inside the stack, requested from a container. */
  const ask = (url: string, from = 'router-a') =>
    project.run('exec', '-T', from, 'node', '--eval', `fetch('${url}').then((r) => r.text()).then(console.log)`);
  const metrics = () => Promise.all(routers.map((name) => ask('http://127.0.0.1:8081/metrics', name))).then(String);

  async function tokenOf(client: string): Promise<string> {
    const secret = project.secrets[`${client.toUpperCase()}_CLIENT_SECRET`];
    const answer = await call(`${project.routerUrl}/token/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${client}&client_secret=${secret}`,
    });
    expect(answer.status).toBe(200);
    return answer.json<{ access_token: string }>().access_token;
  }
  async function callAs(client: string, path: string, patch?: object): Promise<RouterAnswer> {
    const authorization = `Bearer ${await tokenOf(client)}`;
    const write = {
      method: 'PATCH',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(patch),
    };
    return call(`${project.routerUrl}${path}`, patch === undefined ? { headers: { authorization } } : write);
  }
  const login = (user: string, password = '') => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const ui = (path: string, { headers = {}, ...options }: Parameters<typeof call>[1] = {}) =>
    call(`${project.uiUrl}${path}`, {
      ...options,
      headers: { authorization: login('operator', project.secrets['CONDUCTOR_UI_PASSWORD']), ...headers },
    });

  it('a client of the realm gets a response, and the UI shows the execution', async () => {
    const answer = await callAs('demo', '/movies/Metropolis');
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ title: 'Metropolis' });
    const id = String(answer.headers['x-execution-id']);
    const shown = await ui(`/api/workflow/${id}`);
    expect(shown.json()).toMatchObject({ workflowId: id, workflowName: 'moviesWF', status: 'COMPLETED' });
    const page = await ui(`/execution/${id}`);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
  });

  it(
    'a PATCH reaches the other college through events and the co-located workers',
    async () => {
      const cccid = `C${Date.now() % 1_000_000}`;
      const answer = await callAs('demo', '/adaptor/001/mock/colleges/001/persons/0318204', { cccid });
      expect(answer.status).toBe(200);
      await pollUntil(
        'the other college to have the cccid',
        async () =>
          (await callAs('demo', '/adaptor/002/mock/colleges/002/persons/B00417733')).json()['cccid'] === cccid,
        // The engine may take a minute to subscribe to the queue of a new handler.
        { timeoutMs: 2 * minutes, everyMs: 1_000 },
      );
    },
    3 * minutes,
  );

  it('a client without the scope may not write', async () => {
    const answer = await callAs('reader', '/adaptor/001/mock/colleges/001/persons/0318204', { cccid: 'NO' });
    expect(answer.status).toBe(403);
  });

  it('the UI asks for a login', async () => {
    for (const path of ['/', '/api/metadata/workflow']) {
      expect([path, (await ui(path, { headers: { authorization: '' } })).status]).toEqual([path, 401]);
      expect([path, (await ui(path, { headers: { authorization: login('operator', 'x') } })).status]).toEqual([
        path,
        401,
      ]);
    }
  });

  /** If Grafana's image is not available, WITHOUT_GRAFANA=1 skips this test. */
  it('Grafana asks for a login and has the dashboard', requires('grafana'), async () => {
    expect((await call(`${project.grafanaUrl}/api/search`)).status).toBe(401);
    const authorization = login('admin', project.secrets['GRAFANA_ADMIN_PASSWORD']);
    const found = await call(`${project.grafanaUrl}/api/search`, { headers: { authorization } });
    expect(JSON.stringify(found.json())).toContain('Service Router');
  });

  it('Prometheus reaches every target and has the rules', async () => {
    const prometheus = async (path: string) => JSON.parse(await ask(`http://prometheus:9090/api/v1/${path}`)).data;
    await pollUntil(
      'every target to be up',
      async () => {
        const { activeTargets } = (await prometheus('targets')) as { activeTargets: { health: string }[] };
        return activeTargets.length === 4 && activeTargets.every(({ health }) => health === 'up');
      },
      { timeoutMs: minutes, everyMs: 1_000 },
    );
    const { groups } = (await prometheus('rules')) as { groups: { rules: { health: string }[] }[] };
    expect(groups.flatMap(({ rules }) => rules).length).toBeGreaterThan(10);
  });

  it(
    'requests succeed again after either router or either engine is killed',
    async () => {
      for (const name of ['router-a', 'router-b', 'conductor-a', 'conductor-b']) {
        await project.run('kill', name);
        await pollUntil(
          `a 200 response without ${name}`,
          async () => (await callAs('demo', '/movies/Metropolis')).status === 200,
          {
            timeoutMs: minutes,
            everyMs: 500,
          },
        );
        await project.run('up', '--detach', '--wait', '--no-build', name);
      }
      await untilReady();
    },
    10 * minutes,
  );

  it(
    'routers are replaced one after the other, and no request fails',
    async () => {
      const authorization = `Bearer ${await tokenOf('demo')}`;
      const statuses: number[] = [];
      let replaced = false;
      const load = [1, 2, 3, 4].map(async () => {
        while (!replaced) {
          const answer = await call(`${project.routerUrl}/movies/Metropolis`, { headers: { authorization } });
          statuses.push(answer.status);
        }
      });
      for (const name of routers)
        await project.run('up', '--detach', '--wait', '--no-build', '--no-deps', '--force-recreate', name);
      replaced = true;
      await Promise.all(load);
      expect(new Set(statuses)).toEqual(new Set([200]));
      process.stdout.write(`${statuses.length} requests while both routers were replaced\n`);
    },
    10 * minutes,
  );

  describe('the UI’s proxy', () => {
    it.each([
      ['a write', 'POST', '/api/workflow', 403],
      ['a termination', 'DELETE', '/api/workflow/x', 403],
      ['a poll, which takes tasks from the queue', 'GET', '/api/tasks/poll/movies_intake', 403],
      ['a batch poll', 'GET', '/api/tasks/poll/batch/movies_intake?count=9', 403],
      ['a poll disguised by a path parameter', 'GET', '/api/tasks/queue/..;/poll/movies_intake', 400],
      ['a poll disguised by encoded characters', 'GET', '/api/tasks/%70oll/movies_intake', 400],
      ['a poll disguised by a doubled slash', 'GET', '/api/tasks//poll/movies_intake', 403],
      ['the environment', 'GET', '/api/environment', 403],
      ['secrets', 'GET', '/api/secrets', 403],
      ['the configuration', 'GET', '/api/admin/config', 403],
    ])('%s → rejected', async (_title, method, path, status) => {
      expect((await ui(path, { method })).status).toBe(status);
    });

    it('another host name → 421, whatever it resolves to', async () => {
      expect((await ui('/', { headers: { host: 'elsewhere.example' } })).status).toBe(421);
    });

    it('searches and definitions → shown', async () => {
      for (const path of ['/api/workflow/search?query=&size=1', '/api/metadata/workflow', '/api/event']) {
        expect([path, (await ui(path)).status]).toEqual([path, 200]);
      }
    });
  });

  it(
    'every container runs without root, capabilities or a writable file system',
    async () => {
      const services = (await project.run('ps', '--services', '--status', 'running')).trim().split('\n');
      expect(services).toHaveLength(16);
      for (const service of services) {
        const script = 'id -u; (: > /written) 2>/dev/null && echo written; grep ^CapEff: /proc/1/status';
        const [user, capabilities] = (await project.run('exec', '-T', service, 'sh', '-c', script)).trim().split('\n');
        expect([service, Number(user) > 0, capabilities]).toEqual([service, true, 'CapEff:\t0000000000000000']);
      }
    },
    minutes,
  );

  it(
    'workers stop with exit code 0, and a request made meanwhile gets its response once they run again',
    async () => {
      await project.run('stop', 'workers');
      const state = await project.run('ps', '--all', '--format', '{{.ExitCode}}', 'workers');
      expect(state.trim()).toBe('0');
      const answer = callAs('demo', '/movies/Metropolis');
      await pollUntil('the request to wait', async () =>
        /^router_completion_waiters 1$/m.test((await metrics()).replaceAll(',', '\n')),
      );
      await project.run('start', 'workers');
      expect((await answer).status).toBe(200);
    },
    2 * minutes,
  );

  it(
    'after down and up, executions are still there, and definitions are not written again',
    async () => {
      const id = String((await callAs('demo', '/movies/Metropolis')).headers['x-execution-id']);
      await project.run('down');
      await bringUp();
      expect((await ui(`/api/workflow/${id}`)).json()).toMatchObject({ workflowId: id, status: 'COMPLETED' });
      expect(await project.run('logs', '--no-color', 'register')).toMatch(/: no changes; \d+ unchanged/);
      expect((await callAs('demo', '/movies/Metropolis')).status).toBe(200);
    },
    10 * minutes,
  );
});
