// The access token of the load's client, renewed during a run.

import { tokenOf } from '../stack/client.ts';

/** Tokens are valid for at least ten minutes. */
const renewEveryMs = 60_000;

/** Gets and renews a token; keeps the old one while the identity provider is unavailable. */
export async function keepToken(url: string, clientSecret: string) {
  const ask = () => tokenOf(url, 'demo', clientSecret);
  let token = await ask();
  const renew = async () => {
    token = await ask().catch(() => token);
  };
  const timer = setInterval(() => void renew(), renewEveryMs);
  return { value: () => token, stop: () => clearInterval(timer) };
}
