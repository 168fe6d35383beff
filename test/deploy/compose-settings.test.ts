// Tests that everything that docker-compose.yml names exists: configuration keys, services and their ports, files and
// programs.

import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { keyOfVariable } from '#lib/config/environment.ts';
import { loadConfig } from '#lib/config/load.ts';
import { codeBlocksOf, readPage, readPages } from '../docs/pages.ts';
import { compose, networksOf, type Service, textOf } from './deployment-files.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const services = Object.entries(compose.services);

/** Resolves `${…}` as compose does when every secret is set and no optional variable is. */
function resolved(value: string): string {
  const text = value.replace(
    /(?<!\$)\$\{(\w+)(?::([?+-])([^{}]*))?\}/g,
    (_all, name: string, operator?: string, rest = '') => {
      if (operator === '-') return rest as string;
      if (operator === '+') return '';
      return name.endsWith('_FILE') ? 'deploy/demo.properties' : `a-long-secret-of-${name.toLowerCase()}`;
    },
  );
  // A default may itself contain a variable.
  return text === value ? text : resolved(text);
}
const environmentOf = ({ environment = {} }: Service) =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, resolved(String(value))]));

const { config: defaults } = await loadConfig({ env: {} });

const ofProduct = services.filter(([, { build }]) => build?.target === 'product');

describe('the product’s services', () => {
  it.each(ofProduct)(
    '%s: every variable is a key of the configuration, with a value that production accepts',
    async (_name, service) => {
      const env = environmentOf(service);
      expect(
        Object.keys(env).filter((variable) => variable !== 'CONFIG_URL' && keyOfVariable(variable) === undefined),
      ).toEqual([]);
      // Here, CONFIG_URL names the mounted file by its path in the repository.
      const { config } = await loadConfig({
        env: { ...env, NODE_ENV: 'production', CONFIG_URL: `file://${rootDir}deploy/demo.properties` },
      });
      expect(config['movies.url']).toBe('http://back-ends:8084/movies');
    },
  );

  it.each(ofProduct)('%s runs a program of the image', (_name, { command }) => {
    expect(existsSync(`${rootDir}${String(command).split(' ')[0]}`)).toBe(true);
  });

  it('the image lists every host name by which Prometheus calls an operations port', () => {
    const listed = /^ops\.hosts=(.*)$/m.exec(textOf('deploy/image/default.properties'))?.[1]?.split(',');
    const asked = [...textOf('deploy/prometheus/prometheus.yml').matchAll(/'([\w-]+):8081'/g)].map(([, name]) => name);
    expect(asked.length).toBeGreaterThan(0);
    expect(listed).toEqual(expect.arrayContaining(asked));
  });

  it('the stop timeout of each service leaves time for its drain', async () => {
    for (const [name, service] of ofProduct) {
      const { config } = await loadConfig({ env: { ...environmentOf(service), CONFIG_URL: '' } });
      const grace = Number.parseInt((service as { stop_grace_period?: string }).stop_grace_period ?? '10', 10) * 1_000;
      const router = config['router.shutdownDelayMs'] + config['router.drainMs'];
      if (name.startsWith('router')) expect([name, grace > router]).toEqual([name, true]);
      if (name.startsWith('workers')) expect([name, grace > config['workers.drainMs']]).toEqual([name, true]);
    }
  });

  it('`docker run` of the co-located workers leaves time for their drain', () => {
    const blocks = codeBlocksOf(readPage('docs/how-to/deploy-compose.md')).map(({ text }) => text);
    const [command = ''] = blocks.filter((text) => /^docker run [^;]* workers\/main\.ts$/m.test(text));
    const [, seconds] = /--stop-timeout (\d+)/.exec(command) ?? [];
    expect(Number(seconds) * 1_000).toBeGreaterThan(defaults['workers.drainMs']);
  });
});

/**
 * Ports that each service opens to other services. The ports of the routers and the load balancer are read from their
 * files.
 */
const ports: Record<string, number[]> = {
  postgres: [5432],
  redis: [6379],
  'conductor-a': [8080],
  'conductor-b': [8080],
  conductor: [8080],
  keycloak: [8080],
  'router-a': [defaults['router.port'], defaults['ops.port']],
  'router-b': [defaults['router.port'], defaults['ops.port']],
  'load-balancer': [...textOf('deploy/load-balancer/haproxy.cfg').matchAll(/bind :(\d+)/g)].map(([, port]) =>
    Number(port),
  ),
  prometheus: [9090],
  'back-ends': [8084],
};
/** Networks by host name, which is the name of a service or an alias. */
const hosts = new Map<string, Set<string>>();
for (const [name, { networks = [] }] of services) {
  for (const network of networksOf(name)) {
    const { aliases = [] } = (Array.isArray(networks) ? {} : (networks[network] ?? {})) as { aliases?: string[] };
    for (const host of [name, ...aliases]) hosts.set(host, (hosts.get(host) ?? new Set()).add(network));
  }
}

/** Returns the pairs of host and port in the addresses of other services. */
const addressesIn = (text: string) =>
  [...text.matchAll(/(?:\/\/|@)([a-z][\w-]*):(\d+)/g)].map(([, host = '', port]) => [host, Number(port)] as const);

describe('addresses', () => {
  const texts: (readonly [string, string])[] = services.map(([name, service]) => [
    name,
    JSON.stringify([environmentOf(service), service.healthcheck ?? {}]),
  ]);
  const files = [
    ['workers', 'deploy/demo.properties'],
    ['workers-001', 'deploy/demo.properties'],
    ['workers-002', 'deploy/demo.properties'],
    ['prometheus', 'deploy/prometheus/prometheus.yml'],
    ['grafana', 'deploy/grafana/provisioning/datasources/prometheus.yml'],
  ].map(([name = '', file = '']) => [name, textOf(file).replace(/'([\w-]+:\d+)'/g, "'//$1'")] as const);
  const all = [...texts, ...files].flatMap(([name, text]) =>
    addressesIn(text).map((address) => [name, ...address] as const),
  );

  it('more than twenty addresses are found', () => {
    expect(all.length).toBeGreaterThan(20);
  });

  it.each(all)('%s calls %s:%i, a service on a shared network that opens this port', (name, host, port) => {
    expect(ports[host]).toContain(port);
    expect(networksOf(name).filter((network) => hosts.get(host)?.has(network))).not.toEqual([]);
  });

  it('the UI’s proxy calls a host name that both servers of the engine have', () => {
    const [, host = ''] = /set \$engine ([\w-]+):8080;/.exec(textOf('deploy/conductor-ui/nginx.conf')) ?? [];
    expect([...(hosts.get(host) ?? [])]).toEqual(['engine']);
    expect(networksOf('conductor-ui')).toContain('engine');
  });

  it('routers, registration and pruner know every server of the engine', () => {
    const engines = services
      .map(([name]) => name)
      .filter((name) => name.startsWith('conductor-') && name !== 'conductor-ui' && name !== 'conductor-redis');
    for (const name of ['router-a', 'router-b', 'register', 'pruner'])
      expect(compose.services[name]?.environment?.['CONDUCTOR_URL']).toBe(
        `\${ENGINE_SERVERS:-${engines.map((engine) => `http://${engine}:8080`).join()}}`,
      );
  });
});

describe('files', () => {
  const sources = Object.entries(compose.configs);

  it.each(sources)('%s exists and is mounted', (name, { file }) => {
    const path = resolved(file);
    if (path !== '/dev/null') expect(statSync(`${rootDir}${path}`).isFile()).toBe(true);
    const mounted = services.flatMap(([, { configs = [] }]) => configs.map(({ source }) => source));
    expect(mounted).toContain(name);
  });

  it('the file of every mount exists, and every configured path is mounted', () => {
    for (const [name, service] of services) {
      const { configs = [], command = [] } = service;
      for (const { source } of configs) expect(Object.keys(compose.configs)).toContain(source);
      const targets = configs.map(({ target }) => target);
      const named = [
        ...`${[command].flat().join(' ')} ${JSON.stringify(environmentOf(service))}`.matchAll(/\/etc\/[\w./-]+/g),
      ];
      for (const [path] of named) expect([name, targets]).toEqual([name, expect.arrayContaining([path])]);
    }
  });

  it('every volume is used', () => {
    const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0]));
    expect(used.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  });

  it('the engine on Redis reads its own properties, and Redis never evicts its data', () => {
    const redis = compose.services['engine-redis'];
    expect([redis?.command].flat().join(' ')).toContain('--maxmemory "$$REDIS_MAXMEMORY"');
    expect(redis?.environment?.['REDIS_MAXMEMORY']).toMatch(/2600mb\}$/);
    const { command, environment } = compose.services['conductor-redis'] ?? {};
    expect([command].flat()).toContain('--spring.config.additional-location=file:/etc/conductor/redis.properties');
    expect(environment).toEqual({
      CONDUCTOR_REDIS_HOSTS: expect.stringMatching(/^engine-redis:6379:local:\$\{REDIS_PASS/),
    });
    expect(textOf('deploy/redis/engine.conf')).toMatch(/^maxmemory-policy noeviction$/m);
  });

  it('every engine exits when it is out of memory, and has the host name that the UI calls', () => {
    for (const engine of ['conductor-a', 'conductor-b', 'conductor-redis']) {
      const { command, networks } = compose.services[engine] ?? {};
      expect([command].flat()).toContain('-XX:+ExitOnOutOfMemoryError');
      expect(networks).toMatchObject({ engine: { aliases: ['conductor'] } });
    }
  });

  it('every Java command on a page makes the engine exit when it is out of memory', () => {
    const blocks = readPages().flatMap(codeBlocksOf);
    const commands = blocks.flatMap(({ text }) => text.match(/\bjava"? [^|;]*? -jar .*-boot\.jar/g) ?? []);
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(command).toContain(' -XX:+ExitOnOutOfMemoryError ');
  });

  it('the load balancer reaches the routers on the network whose addresses they trust', () => {
    for (const router of ['router-a', 'router-b']) {
      expect(compose.services[router]?.networks).toMatchObject({ front: { aliases: [`front-${router}`] } });
      expect(textOf('deploy/load-balancer/haproxy.cfg')).toContain(`server ${router} front-${router}:8080`);
    }
  });

  it('both servers of the engine use the lock in their database', () => {
    expect(textOf('lib/conductor/server/cluster.properties')).toMatch(
      /^conductor\.workflow-execution-lock\.type=postgres$/m,
    );
    for (const engine of ['conductor-a', 'conductor-b']) {
      const locations =
        [compose.services[engine]?.command].flat().find((part) => part?.includes('additional-location')) ?? '';
      // The file that is named last takes precedence.
      expect(locations).toMatch(/postgresql\.properties,file:\/etc\/conductor\/cluster\.properties$/);
    }
  });
});

describe('health checks', () => {
  it.each(services.filter(([, { healthcheck }]) => healthcheck?.test !== undefined))(
    '%s checks itself or, for workers, the load balancer',
    (name, { healthcheck }) => {
      const test = healthcheck?.test?.join(' ') ?? '';
      const asked = [...test.matchAll(/http:\/\/([\w.-]+):/g)].map(([, host]) => host);
      expect(asked.filter((host) => host !== '127.0.0.1')).toEqual(name.startsWith('workers') ? ['load-balancer'] : []);
      // Without -f, curl accepts any response, and the check would be meaningless.
      if (test.includes('curl')) expect(test).toMatch(/curl -f/);
      const [, script] = /node,? ([\w/.-]+\.mjs)/.exec(test) ?? [];
      if (script !== undefined) expect(existsSync(`${rootDir}${script}`)).toBe(true);
    },
  );
});

describe('Grafana', () => {
  it('has the dashboard where its provisioning looks, and a data source that the dashboard can choose', () => {
    const targets = compose.services['grafana']?.configs?.map(({ target }) => target) ?? [];
    const [, path] = /path: (.+)/.exec(textOf('deploy/grafana/provisioning/dashboards/service-router.yml')) ?? [];
    expect(targets).toContain(`${path}/service-router.json`);
    expect(textOf('deploy/grafana/provisioning/datasources/prometheus.yml')).toMatch(/^ {4}type: prometheus$/m);
    const [, shortest] =
      /timeInterval: (\S+)/.exec(textOf('deploy/grafana/provisioning/datasources/prometheus.yml')) ?? [];
    expect(textOf('deploy/prometheus/prometheus.yml')).toContain(`scrape_interval: ${shortest}`);
  });
});
