// Tests of the production profile: it refuses settings that are allowed on a laptop, and reports all of them at once.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConfigError, loadConfig } from '#lib/config/load.ts';
import { checkProduction } from '#lib/config/production.ts';
import { isPrivateHost } from '#lib/config/private-host.ts';
import { devClients } from '../../../dev/identity-provider/clients.ts';

const production = { NODE_ENV: 'production', OAUTH_ISSUER: 'https://id.example.org' };

async function problemsOf(env: Record<string, string>): Promise<readonly string[]> {
  return loadConfig({ env }).then(
    () => [],
    (error: unknown) => (error as ConfigError).problems,
  );
}

describe('production', () => {
  it('a valid configuration is accepted', async () => {
    expect(await problemsOf(production)).toEqual([]);
    expect(await problemsOf({ ...production, CONDUCTOR_URL: 'http://conductor:8080', OPS_HOST: '0.0.0.0' })).toEqual(
      [],
    );
  });

  it('all problems are listed at once, including those that the schema reports', async () => {
    const problems = await problemsOf({
      NODE_ENV: 'production',
      ROUTER_PORT: 'x',
      OAUTH_ISSUER: 'http://id.example.org',
      OAUTH_JWKSURL: 'http://id.example.org/jwks',
      WORKERS_CLIENTSECRET: 'worker-secret',
      OPS_CLIENTSECRET: 'ops-secret',
      CONDUCTOR_URL: 'http://203.0.113.7:8082',
      CONDUCTOR_APIURL: 'http://router.example.org/conductor/api',
      MDM_UPDATEQUEUEURL: 'amqp://router:hidden@rabbit.example.org:5672',
      OPS_HOST: '203.0.113.8',
      REDIS_URL: 'redis://:hid@den@redis.example.org:6379',
    });
    expect(problems.map((problem) => problem.split(' ').slice(0, 2).join(' ')).toSorted()).toEqual([
      'environment: router.port',
      'production: conductor.apiURL',
      'production: conductor.url',
      'production: mdm.updateQueueURL',
      'production: oauth.issuer',
      'production: oauth.jwksURL',
      'production: ops.clientSecret',
      'production: ops.host',
      'production: redis.url',
      'production: workers.clientSecret',
    ]);
    expect(problems.join()).not.toMatch(/worker-secret|hidden|den@/);
  });

  it('several engine addresses are refused when one of them is public, and the message names it', async () => {
    const CONDUCTOR_URL = 'http://10.0.0.5:8080, http://203.0.113.7:8080';
    expect(await problemsOf({ ...production, CONDUCTOR_URL })).toEqual([
      expect.stringContaining('conductor.url is http://203.0.113.7:8080: the engine has no authentication'),
    ]);
  });

  it.each([
    ['conductor.apiURL', { CONDUCTOR_APIURL: 'HTTP://router.example.org/conductor/api' }],
    ['mdm.updateQueueURL', { MDM_UPDATEQUEUEURL: 'AMQP://rabbit.example.org' }],
    ['redis.url', { REDIS_URL: 'Redis://redis.example.org' }],
  ])('%s is refused without TLS even if its scheme is in upper case', async (key, env) => {
    expect(await problemsOf({ ...production, ...env })).toEqual([expect.stringContaining(`production: ${key} is `)]);
  });

  it.each([
    ['conductor.url', { CONDUCTOR_URL: 'http://router:hidden@203.0.113.7:8082' }],
    ['conductor.apiURL', { CONDUCTOR_APIURL: 'http://worker:hidden@router.example.org/conductor/api' }],
  ])('the message about %s hides its password', async (key, env) => {
    const problems = await problemsOf({ ...production, ...env });
    expect(problems).toEqual([expect.stringContaining(`${key} is http://********@`)]);
  });

  it.each(devClients.map(({ clientSecret }) => clientSecret))('the dev secret %s is refused', async (secret) => {
    const problems = await problemsOf({ ...production, WORKERS_CLIENTSECRET: secret });
    expect(problems).toEqual([expect.stringContaining('workers.clientSecret is the published secret')]);
  });

  it.each(['0.0.0.0', '[::]', '203.0.113.7', '[2001:db8::1]', '[::ffff:203.0.113.7]'])(
    'an engine at %s is refused unless accepted',
    async (host) => {
      const open = { ...production, CONDUCTOR_URL: `http://${host}:8082` };
      expect(await problemsOf(open)).toEqual([expect.stringContaining('the engine has no authentication')]);
      expect(await problemsOf({ ...open, PRODUCTION_ACCEPTS: 'open-engine' })).toEqual([]);
    },
  );

  it.each(['127.0.0.1', 'keycloak', '10.0.0.5'])('an http issuer at %s is refused unless accepted', async (host) => {
    const near = { NODE_ENV: 'production', OAUTH_ISSUER: `http://${host}:8083` };
    expect(await problemsOf(near)).toEqual([expect.stringContaining('oauth.issuer is http://')]);
    expect(await problemsOf({ ...near, PRODUCTION_ACCEPTS: 'http-issuer' })).toEqual([]);
  });

  it('a public http issuer is refused even if the operator accepts http issuers', async () => {
    const far = { NODE_ENV: 'production', OAUTH_ISSUER: 'http://id.example.org', PRODUCTION_ACCEPTS: 'http-issuer' };
    expect(await problemsOf(far)).toHaveLength(1);
  });

  describe('a remote property file over http, which could set the issuer', () => {
    const answers = createServer((_request, response) => response.end(body));
    let body = '';
    let address = '';
    beforeAll(async () => {
      await once(answers.listen(0, '127.0.0.1'), 'listening');
      address = `http://user:hush@127.0.0.1:${(answers.address() as AddressInfo).port}/router.properties`;
    });
    afterAll(() => answers.close());

    it('is refused unless the operator accepts it', async () => {
      body = 'log.level=warn';
      const env = { ...production, CONFIG_URL: address };
      const problems = await problemsOf(env);
      expect(problems).toEqual([
        expect.stringMatching(/config\.url is http:.*production\.accepts must contain http-config/),
      ]);
      expect(problems.join()).not.toContain('hush');
      expect(await problemsOf({ ...env, PRODUCTION_ACCEPTS: 'http-config' })).toEqual([]);
    });

    it('cannot accept itself through production.accepts', async () => {
      body = 'production.accepts=http-config';
      expect(await problemsOf({ ...production, CONFIG_URL: address })).toHaveLength(1);
    });

    it('on a public host is refused even if the operator accepts it', () => {
      const far = { 'config.url': ['http://203.0.113.9/x.properties'], 'production.accepts': ['http-config' as const] };
      expect(checkProduction(far, {})).toEqual([
        'production: config.url is http://203.0.113.9/x.properties: it must be https',
      ]);
    });
  });

  it('PROFILE=production counts as production; other profiles do not', async () => {
    const dev = { OAUTH_ISSUER: 'http://127.0.0.1:8083', WORKERS_CLIENTSECRET: 'worker-secret' };
    expect(await problemsOf({ ...dev, PROFILE: 'production' })).toHaveLength(2);
    expect(await problemsOf(dev)).toEqual([]);
    expect(await problemsOf({ ...dev, NODE_ENV: 'test', PROFILE: 'staging' })).toEqual([]);
  });
});

it.each([
  ['127.0.0.53', true],
  ['[::1]', true],
  ['172.31.255.255', true],
  ['172.32.0.1', false],
  ['fd00::1', true],
  ['2001:db8::1', false],
  ['conductor', true],
  ['db.corp.internal', true],
  ['conductor.example.org', false],
  ['127.0.0.1.example.org', false],
])('host %s is private: %s', (host, expected) => {
  expect(isPrivateHost(host)).toBe(expected);
});
