// Tests of replacing two routers behind the load balancer in deploy/: when a router is stopped, no request fails; when
// a router is killed, only its in-flight requests fail.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../deploy/deployment-files.ts';
import { type LoadBalancer, startLoadBalancer } from '../deploy/haproxy.ts';
import { startPrometheus } from '../deploy/prometheus.ts';
import { type Caller, callerFor, checkAnswersOf, describeNothingOf } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

const portOf = (url: string) => Number(new URL(url).port);
/** The settings of docker-compose.yml. */
const env = { ROUTER_SHUTDOWNDELAYMS: '4000', ROUTER_TRUSTEDPROXIES: '127.0.0.1' };

/** The OpenAPI document does not describe the load balancer's own responses. */
const any = { undescribed: 'some responses come from the load balancer' };

describe('two routers behind the load balancer', requires('full', 'haproxy', 'haproxy-3', 'redis'), () => {
  let redis: RedisServer;
  let stack: Stack;
  let second: Program;
  let secondEnv: Record<string, string>;
  let balancer: LoadBalancer;
  let demo: Caller;

  beforeAll(async () => {
    redis = await startRedisServer();
    const port = await findFreePort();
    const router = { ...env, REDIS_URL: redis.url };
    stack = await startStack({ engineUrl: engineOfRun().url, router, withWorkers: false });
    secondEnv = { ...stack.routerEnv, ROUTER_PORT: String(port), OPS_PORT: String(await findFreePort()) };
    second = await startProgram('gateway/main.ts', secondEnv);
    balancer = await startLoadBalancer([
      { port: portOf(stack.url), opsPort: portOf(stack.operationsUrl) },
      { port, opsPort: Number(secondEnv['OPS_PORT']) },
    ]);
    // Workers reach the routers only through the load balancer.
    const through = { CONDUCTOR_APIURL: `${balancer.url}/conductor/api` };
    await Promise.all([stack.addWorkers(through), stack.addWorkers({ ...through, WORKERS_DOMAIN: '002' })]);
    await untilBothServe();
    await checkAnswersOf(balancer.url);
    demo = await callerFor(balancer.url);
  });
  afterAll(async () => {
    await second?.stop();
    await stack?.stop();
    await balancer?.stop();
    if (balancer !== undefined) describeNothingOf(balancer.url);
    await redis?.stop();
  });

  const untilBothServe = () => pollUntil('both routers to serve', async () => (await balancer.serving()).length === 2);

  /**
   * Runs `happens` while four clients each send one request after another; returns the number of responses by
   * status.
   */
  async function statusesWhile(happens: () => Promise<void>): Promise<Map<number | string, number>> {
    const statuses = new Map<number | string, number>();
    let isOver = false;
    const clients = [1, 2, 3, 4].map(async () => {
      while (!isOver) {
        const status = await demo('/movies/Metropolis', any).then(
          (answer) => answer.status,
          (error: Error) => error.message,
        );
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    await happens();
    isOver = true;
    await Promise.all(clients);
    return statuses;
  }

  it(
    'Prometheus scrapes every target, evaluates every rule, and answers the queries of the dashboard',
    { ...requires('prometheus'), timeout: 60_000 },
    async () => {
      expect((await demo('/movies/Metropolis')).status).toBe(200);
      const host = (url: string) => new URL(url).host;
      const prometheus = await startPrometheus({
        'router-a:8081': host(stack.operationsUrl),
        'router-b:8081': `127.0.0.1:${secondEnv['OPS_PORT']}`,
        'load-balancer:8404': host(balancer.operationsUrl),
      });
      try {
        await pollUntil('every target to be up', async () => {
          const { activeTargets } = await prometheus.ask<{ activeTargets: { health: string }[] }>('targets');
          return activeTargets.length === 4 && activeTargets.every(({ health }) => health === 'up');
        });
        await pollUntil('every rule to have been evaluated', async () => {
          const { groups } = await prometheus.ask<{ groups: { rules: { health: string }[] }[] }>('rules');
          const rules = groups.flatMap((group) => group.rules);
          return rules.length > 10 && rules.every(({ health }) => health === 'ok');
        });
        const { panels } = JSON.parse(textOf('deploy/grafana/service-router.json')) as {
          panels: { targets?: { expr: string }[] }[];
        };
        // Replaces variables as Grafana does when everything is selected.
        const asked = panels
          .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
          .map((expr) => expr.replaceAll('$__rate_interval', '1m').replace(/\$\{?\w+\}?/g, '.*'));
        const series = async (query: string) =>
          (await prometheus.ask<{ result: unknown[] }>(`query?query=${encodeURIComponent(query)}`)).result.length;
        await pollUntil(
          'a second scrape of the routers',
          async () => (await series('rate(router_http_requests_total[1m])')) > 0,
        );
        let answered = 0;
        for (const query of asked) if ((await series(query)) > 0) answered += 1;
        process.stdout.write(`dashboard: ${answered} of ${asked.length} queries have series\n`);
        // Queries about events that did not happen here (breakers, queues, failures) have no series; invalid queries
        // fail above.
        expect(answered).toBeGreaterThan(10);
      } finally {
        await prometheus.stop();
      }
    },
  );

  it('each router is stopped and restarted under load → no request fails', async () => {
    const statuses = await statusesWhile(async () => {
      await stack.router.stop();
      await stack.restartRouter();
      await untilBothServe();
      await second.stop();
      second = await startProgram('gateway/main.ts', secondEnv);
      await untilBothServe();
    });
    process.stdout.write(`rolling: ${JSON.stringify([...statuses])}\n`);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(50);
  });

  it('one router is killed under load → its in-flight requests get 502 or 504; the other serves the rest', async () => {
    const statuses = await statusesWhile(async () => {
      await second.kill();
      const served = async () => (await demo('/movies/Metropolis', any)).status === 200;
      await pollUntil('the other router to serve', served);
      second = await startProgram('gateway/main.ts', secondEnv);
      await untilBothServe();
    });
    process.stdout.write(`killed: ${JSON.stringify([...statuses])}\n`);
    // Four clients have at most four requests at the killed router; results of workers may also have been in flight
    // through that router.
    const failed = [...statuses].filter(([status]) => status !== 200);
    expect(failed.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(8);
    for (const [status] of failed) expect([502, 504]).toContain(status);
    expect(statuses.get(200)).toBeGreaterThan(20);
  });
});
