// Tests of client addresses: only values that trusted proxies added to X-Forwarded-For are used.

import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ClientAddresses, networkOf } from '../../gateway/plugin-api/client-address.ts';
import { sendFields } from '../plugins/oauth2/secured-host.ts';

const request = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('the address of a client', () => {
  it.each([
    ['no proxy is trusted', [], '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['the connection does not come from a trusted proxy', ['10.0.0.0/8'], '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['a trusted proxy forwards the request', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['the client sends a field of its own', ['10.0.0.0/8'], '10.1.2.3', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['the client pretends to be the proxy', ['10.0.0.0/8'], '10.1.2.3', '10.9.9.9, 203.0.113.9', '203.0.113.9'],
    ['two trusted proxies', ['10.0.0.0/8', '192.0.2.7'], '10.1.2.3', '203.0.113.9, 192.0.2.7', '203.0.113.9'],
    ['only trusted addresses', ['10.0.0.0/8'], '10.1.2.3', '10.0.0.5, 10.0.0.6', '10.0.0.5'],
    ['a trusted proxy sends no X-Forwarded-For', ['10.0.0.0/8'], '10.1.2.3', undefined, '10.1.2.3'],
    ['a trusted proxy sends an invalid X-Forwarded-For', ['10.0.0.0/8'], '10.1.2.3', 'unknown', '10.1.2.3'],
    ['an invalid value before an address', ['10.0.0.0/8'], '10.1.2.3', 'x, 203.0.113.9', '203.0.113.9'],
    ['IPv4-mapped IPv6 addresses', ['10.0.0.0/8'], '::ffff:10.1.2.3', '::ffff:203.0.113.9', '203.0.113.9'],
    ['a trusted proxy adds the port', ['10.0.0.0/8'], '10.1.2.3', 'x, 203.0.113.9:50123', '203.0.113.9'],
    ['a proxy in between adds the port', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9, 10.0.0.5:443', '203.0.113.9'],
    ['IPv6 with a port', ['10.0.0.0/8'], '10.1.2.3', '[2001:db8:2::1]:50123', '2001:db8:2::1'],
    ['IPv6 in brackets without a port', ['10.0.0.0/8'], '10.1.2.3', '[2001:db8:2::1]', '2001:db8:2::1'],
    ['an IPv4-mapped IPv6 address with a port', ['10.0.0.0/8'], '10.1.2.3', '[::ffff:203.0.113.9]:1', '203.0.113.9'],
    ['a name with a port', ['10.0.0.0/8'], '10.1.2.3', 'localhost:50123', '10.1.2.3'],
    ['IPv6', ['2001:db8:1::/48'], '2001:db8:1::5', '2001:db8:2::1', '2001:db8:2::1'],
  ])('%s', (_name, trusted, remote, forwarded, expected) => {
    expect(new ClientAddresses(() => trusted).of(request(remote, forwarded))).toBe(expected);
  });

  it('several header lines count as one list', async () => {
    const addresses = new ClientAddresses(() => ['127.0.0.1']);
    const server = createServer((incoming, response) => void response.end(addresses.of(incoming))).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const lines = ['X-Forwarded-For', '198.51.100.1', 'X-Forwarded-For', '203.0.113.9'];
    expect((await sendFields(url, lines)).text).toBe('203.0.113.9');
    server.close();
  });
});

describe('the network of a client', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:0:1:aaaa:bbbb:cccc:dddd', '2001:db8:0:1'],
    ['2001:0DB8:0000:0001::1', '2001:db8:0:1'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['1::4:5:6:7:8', '1:0:0:4'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['', ''],
  ])('%s counts as %s', (address, expected) => {
    expect(networkOf(address)).toBe(expected);
  });
});
