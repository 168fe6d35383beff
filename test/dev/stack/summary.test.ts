// Tests of the text that `npm start` prints.

import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../dev/stack/options.ts';
import { summary } from '../../../dev/stack/summary.ts';

describe('summary', () => {
  it('names every address, the clients of the embedded provider and calls to try', async () => {
    const text = summary(await readSettings({ ROUTER_PORT: '4711' }), 'Java 25');
    expect(text).toContain('router             http://127.0.0.1:4711\n');
    expect(text).toContain('http://127.0.0.1:8082/api  (Java 25)');
    expect(text).toContain('demo / demo-secret');
    expect(text).toContain('"http://127.0.0.1:4711/adaptor/001/sections?sisTermId=2026FA&sisCourseId=MATH-31&mis=001"');
  });

  it('with TLS, names the certificate in the calls', async () => {
    const settings = await readSettings({});
    const urls = { ...settings.urls, router: 'https://127.0.0.1:4711' };
    const text = summary({ ...settings, urls, env: { NODE_EXTRA_CA_CERTS: '/etc/ca.pem' } }, 'Java 25');
    expect(text).toContain('TOKEN=$(curl --cacert /etc/ca.pem -s https://127.0.0.1:4711/token');
    expect(text).toContain(
      '  curl --cacert /etc/ca.pem -H "Authorization: Bearer $TOKEN" https://127.0.0.1:4711/movies/',
    );
  });

  it('says what does not work when the database is in a virtual machine, where no other program may open it', async () => {
    const said = 'event records are not pruned';
    expect(summary(await readSettings({}, { isShared: async () => false }), 'Docker')).toContain(said);
    expect(summary(await readSettings({}, { isShared: async () => true }), 'Docker')).not.toContain(said);
  });

  it('with a given identity provider, says whose tokens are accepted and does not show the embedded one', async () => {
    const env = { OAUTH_ISSUER: 'https://login.example', WORKERS_CLIENTID: 'pool', WORKERS_CLIENTSECRET: 'geheim' };
    const text = summary(await readSettings(env), 'Java 25');
    expect(text).toContain('The router accepts the access tokens of https://login.example, and no others.');
    expect(text).toContain('as client pool (WORKERS_CLIENTID, WORKERS_CLIENTSECRET)');
    expect(text).not.toMatch(/demo|reader|-secret|geheim|client_credentials|:8083/);
  });
});
