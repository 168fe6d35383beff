// The access token of the load's client, renewed while a run lasts.

import { call } from '../stack/client.ts';

export interface ClientToken {
  value(): string;
  stop(): void;
}

/** Tokens live for ten minutes at least. */
const renewEveryMs = 60_000;

/** Gets and renews a token; keeps the old one while the identity provider is unavailable. */
export async function keepToken(url: string, clientSecret: string): Promise<ClientToken> {
  const ask = async () => {
    const answer = await call(`${url}/token/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=demo&client_secret=${clientSecret}`,
    });
    if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`);
    return answer.json<{ access_token: string }>().access_token;
  };
  let token = await ask();
  const renew = async () => {
    token = await ask().catch(() => token);
  };
  const timer = setInterval(() => void renew(), renewEveryMs);
  return { value: () => token, stop: () => clearInterval(timer) };
}
