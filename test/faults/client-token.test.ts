// Tests of the access tokens of the load's client: replaced tokens stay known, because a log may contain them.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { pollUntil } from '../stack/poll-until.ts';
import { keepToken } from './client-token.ts';

it('still knows the earlier tokens after a renewal', async () => {
  let count = 0;
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: `token-${(count += 1)}` }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const token = await keepToken(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'secret', 20);
  try {
    await pollUntil('two renewals', () => token.value() !== 'token-1' && token.value() !== 'token-2', { everyMs: 10 });
    expect(token.all().slice(0, 3)).toEqual(['token-1', 'token-2', 'token-3']);
    expect(token.all()).toContain(token.value());
  } finally {
    token.stop();
    server.close();
  }
});
