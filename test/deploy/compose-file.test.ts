// Tests of docker-compose.yml: it contains no secret, publishes no port that should be internal, and limits every
// service.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { variableOf } from '#lib/config/environment.ts';
import { configSchema } from '#lib/config/schema.ts';
import { engineRelease } from '../../dev/engine/release.ts';
import { keycloakRelease } from '../keycloak/release.ts';
import { compose, type ComposeFile, composeVariables, networksOf, textOf } from './deployment-files.ts';
import { requires } from '../run/requirements.ts';

const services = Object.entries(compose.services);
const shareNetwork = (one: string, other: string) =>
  networksOf(one).some((network) => networksOf(other).includes(network));

describe('secrets', () => {
  const secretName = /PASSWORD|SECRET|DSN|REDIS_URL|TOKEN(?!URL)|KEY(?!CLOAK)/;
  const secretKeys = Object.entries(configSchema.properties).flatMap(([key, type]) => ('secret' in type ? [key] : []));
  const secretVariables = new Set(secretKeys.map(variableOf));

  it('every secret comes from the environment, and every secret that is not optional must be set', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => secretName.test(name) || secretVariables.has(name)),
    );
    expect(secrets.length).toBeGreaterThan(12);
    for (const [name, value] of secrets)
      expect([name, value]).toEqual([
        name,
        expect.stringMatching(
          /^(\w+:\/\/\w*:)?\$\{\w+:[?-].*\}(@(\$\{REDIS_HOST:-redis\}:6379|postgres:5432\/conductor))?$/,
        ),
      ]);
    const optional = secrets.filter(([, value]) => /^\$\{\w+:-/.test(value)).map(([name]) => name);
    expect(new Set(optional)).toEqual(
      new Set([
        ...['SENTRY_DSN', 'PAYLOAD_KEY', 'PAYLOAD_DECRYPTIONKEYS', 'KEYCLOAK_DB_PASSWORD'],
        ...['OAUTH_INTROSPECTIONCLIENTSECRET', 'MDM_UPDATEQUEUEURL', 'OTEL_EXPORTER_OTLP_HEADERS'],
      ]),
    );
  });

  it('each service gets the secret keys of the configuration that it needs', () => {
    const routers = ['router-a', 'router-b'];
    const workers = ['workers', 'workers-001', 'workers-002'];
    const product = ['register', 'pruner', ...routers, ...workers];
    const neededBy: Record<string, readonly string[]> = {
      'conductor.databaseURL': ['pruner'],
      'mdm.updateQueueURL': routers,
      'oauth.introspectionClientSecret': routers,
      'workers.clientSecret': workers,
      'payload.key': product,
      'payload.decryptionKeys': product,
      // Only for the CLI.
      'ops.clientSecret': [],
      'redis.url': ['pruner', ...routers],
      'sentry.dsn': product,
      'otel.exporter.otlp.headers': product,
    };
    expect(secretKeys.toSorted()).toEqual(Object.keys(neededBy).toSorted());
    for (const [key, needing] of Object.entries(neededBy)) {
      const given = services.filter(([, { environment = {} }]) => variableOf(key) in environment).map(([name]) => name);
      expect([key, given.toSorted()]).toEqual([key, needing.toSorted()]);
    }
  });

  it('example.env names all required variables and no unknown variables, and assigns no values to them', () => {
    const lines = textOf('deploy/example.env')
      .split('\n')
      .filter((line) => /^#?\w+=/.test(line));
    const named = new Set(lines.map((line) => line.replace(/^#?(\w+)=.*$/, '$1')));
    for (const [name, { required }] of composeVariables()) {
      const line = lines.find((candidate) => candidate.replace('#', '').startsWith(`${name}=`));
      if (required) expect(line).toBe(`${name}=`);
    }
    const known = new Set([...composeVariables().keys(), 'COMPOSE_PROFILES']);
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
    expect(lines.filter((line) => !/=$/.test(line))).toEqual(['#COMPOSE_PROFILES=demo']);
  });

  it('git ignores .env', () => {
    expect(textOf('.gitignore').split('\n')).toContain('.env');
  });
});

describe('network access between services', () => {
  it('only the load balancer may be published on an address other than loopback', () => {
    for (const [name, { ports = [] }] of services) {
      for (const port of ports) {
        const isLocal =
          port.startsWith('127.0.0.1:') ||
          (name === 'load-balancer' && /^\$\{(?:ROUTER|KEYCLOAK)_ADDRESS:-127\.0\.0\.1\}:/.test(port));
        expect([name, port, isLocal]).toEqual([name, port, true]);
      }
    }
    const published = services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name);
    expect(published.sort()).toEqual(['conductor-ui', 'grafana', 'load-balancer']);
  });

  it('every published service except the load balancer asks for a login', () => {
    expect(textOf('deploy/conductor-ui/nginx.conf')).toMatch(/^ {4}auth_basic_user_file \/tmp\/users;$/m);
    expect(textOf('deploy/conductor-ui/nginx.conf')).not.toContain('auth_basic off');
    expect(compose.services['grafana']?.environment).toMatchObject({
      GF_AUTH_ANONYMOUS_ENABLED: 'false',
      GF_USERS_ALLOW_SIGN_UP: 'false',
      GF_SECURITY_ADMIN_PASSWORD: expect.stringMatching(/^\$\{GRAFANA_ADMIN_PASSWORD:\?/),
    });
  });

  it.each(['conductor-a', 'conductor-b'])(
    '%s shares a network only with the routers, the registration, the pruner, the UI and the database',
    (engine) => {
      const near = services.map(([name]) => name).filter((name) => name !== engine && shareNetwork(name, engine));
      // Keycloak is on the list because it uses the same database server.
      const others = ['conductor-a', 'conductor-b', 'conductor-redis'].filter((name) => name !== engine);
      const expected = [
        'conductor-ui',
        'keycloak',
        'postgres',
        'pruner',
        'register',
        'router-a',
        'router-b',
        ...others,
      ];
      expect(near.sort()).toEqual(expected.sort());
      for (const network of networksOf(engine)) expect(compose.networks[network]).toEqual({ internal: true });
    },
  );

  it('only the load balancer and the routers are on the network whose addresses the routers trust', () => {
    const on = services.map(([name]) => name).filter((name) => networksOf(name).includes('front'));
    expect(on.sort()).toEqual(['load-balancer', 'router-a', 'router-b']);
    const { subnet } = compose.networks['front']?.ipam?.config?.[0] ?? {};
    for (const router of ['router-a', 'router-b'])
      expect(compose.services[router]?.environment?.['ROUTER_TRUSTEDPROXIES']).toBe(subnet);
  });

  it('workers reach the load balancer, but no engine, identity provider, database or operations port', () => {
    for (const workers of ['workers', 'workers-001', 'workers-002']) {
      expect(shareNetwork(workers, 'load-balancer')).toBe(true);
      for (const hidden of ['conductor-a', 'keycloak', 'postgres', 'conductor-ui', 'router-a', 'redis', 'prometheus']) {
        expect([workers, hidden, shareNetwork(workers, hidden)]).toEqual([workers, hidden, false]);
      }
    }
  });

  it('Prometheus reaches an external Alertmanager through a network that only Prometheus uses', () => {
    const outside = networksOf('prometheus').filter((network) => compose.networks[network]?.internal !== true);
    expect(outside).toEqual(['alerting']);
    const on = services.map(([name]) => name).filter((name) => networksOf(name).includes('alerting'));
    expect(on).toEqual(['prometheus']);
  });

  it('the routers do not reach the back ends, and share Redis only with the pruner and the engine on Redis', () => {
    expect(shareNetwork('router-a', 'back-ends')).toBe(false);
    const near = services.map(([name]) => name).filter((name) => name !== 'redis' && shareNetwork(name, 'redis'));
    expect(near.sort()).toEqual(['conductor-redis', 'engine-redis', 'pruner', 'router-a', 'router-b']);
  });
});

describe('every service', () => {
  it.each(services)('%s has a read-only file system, no capability, limits and a restart policy', (name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    expect(service.privileged).toBeUndefined();
    expect(Object.keys(service.deploy?.resources?.limits ?? {}).sort()).toEqual(['cpus', 'memory', 'pids']);
    expect(service.restart).toBe(name === 'register' ? 'no' : 'unless-stopped');
  });

  it.each(services)('%s has a health check, which may be that of its image', (_name, { healthcheck, build }) => {
    expect(healthcheck !== undefined || build !== undefined).toBe(true);
  });

  it.each(services)('%s runs an image of a fixed version', (_name, { image }) => {
    expect(image).toMatch(/^(service-router(-\w+)?:\$\{SERVICE_ROUTER_VERSION:-local\}|\$\{\w+:-[\w./-]+:[\w.-]+\})$/);
    expect(image).not.toContain(':latest');
  });
});

describe('versions', () => {
  it('the engine has the version that all other tests use', () => {
    for (const engine of ['conductor-a', 'conductor-b'])
      expect(compose.services[engine]?.image).toBe(`\${CONDUCTOR_IMAGE:-${engineRelease.image}}`);
  });

  it('Keycloak has the version that the opt-in suite uses', () => {
    const image = `quay.io/keycloak/keycloak:${keycloakRelease.version}`;
    expect(compose.services['keycloak']?.build?.args).toEqual({ KEYCLOAK_IMAGE: `\${KEYCLOAK_IMAGE:-${image}}` });
    expect(textOf('deploy/keycloak/Dockerfile')).toContain(`ARG KEYCLOAK_IMAGE=${image}\n`);
  });

  it('Node is the same in the compose file and the Dockerfile', () => {
    const image = /^ARG NODE_IMAGE=(.+)$/m.exec(textOf('Dockerfile'))?.[1];
    for (const [, { build }] of services) {
      const given = build?.args?.['NODE_IMAGE'];
      if (given !== undefined) expect(given).toBe(`\${NODE_IMAGE:-${image}}`);
    }
  });
});

/** `docker compose config` needs no daemon. */
describe('docker compose config', requires('compose'), () => {
  const rootDir = fileURLToPath(new URL('../..', import.meta.url));
  const { PATH, HOME, DOCKER_CONFIG = '' } = process.env;
  const read = (variables: Record<string, string>, ...options: string[]) =>
    spawnSync('docker', ['compose', '--env-file', '/dev/null', '--profile', 'demo', 'config', ...options], {
      cwd: rootDir,
      encoding: 'utf8',
      env: { PATH, HOME, DOCKER_CONFIG, ...variables },
    });
  const needed = [...composeVariables()].filter(([, { required }]) => required).map(([name]) => name);
  const complete = Object.fromEntries(needed.map((name) => [name, 'x']));

  it('accepts the file when every required variable is set', () => {
    const variables = { ...complete, BACK_ENDS_FILE: 'deploy/demo.properties' };
    expect(read(variables, '--quiet')).toMatchObject({ status: 0, stderr: '' });
    const { services: known } = JSON.parse(read(variables, '--format', 'json').stdout) as ComposeFile;
    expect(known['keycloak']?.build?.context).toBe(`${rootDir}deploy/keycloak`);
    expect(known['router-a']?.environment).toMatchObject({
      OAUTH_ISSUER: 'http://127.0.0.1:8083/realms/service-router',
      OAUTH_JWKSURL: expect.stringMatching(/^http:\/\/keycloak:8080\//),
    });
  });

  it('with OAUTH_ISSUER, needs neither Keycloak nor its secrets and discovers the endpoints of the issuer', () => {
    const ofKeycloak = /^KEYCLOAK_|^(?:DEMO|READER|OPS)_CLIENT_SECRET$/;
    const variables = Object.fromEntries(Object.entries(complete).filter(([name]) => !ofKeycloak.test(name)));
    const issuer = 'https://login.college.example';
    const { status, stdout } = read({ ...variables, OAUTH_ISSUER: issuer, OAUTH_AUDIENCE: 'api' }, '--format', 'json');
    expect(status).toBe(0);
    const { services: own } = JSON.parse(stdout) as ComposeFile;
    expect(Object.keys(own)).not.toContain('keycloak');
    const environment = own['router-a']?.environment ?? {};
    expect(environment).toMatchObject({ OAUTH_ISSUER: issuer, OAUTH_AUDIENCE: 'api' });
    expect(Object.keys(environment).filter((name) => /JWKSURL|TOKENURL|PRODUCTION/.test(name))).toEqual([]);
  });

  it.each(needed)('rejects the file without %s, and says what to set', (name) => {
    const { status, stderr } = read({ ...complete, [name]: '' }, '--quiet');
    expect(status).not.toBe(0);
    expect(stderr).toContain(name);
  });
});
