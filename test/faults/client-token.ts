// The access token of the load's client, renewed during a run.

import { tokenOf } from '../stack/client.ts';

/** Tokens are valid for at least ten minutes. */
const renewEveryMs = 60_000;

/** Gets and renews a token; keeps the old one while the identity provider is unavailable. */
export async function keepToken(url: string, clientSecret: string, everyMs = renewEveryMs) {
  const ask = () => tokenOf(url, 'demo', clientSecret);
  const tokens = [await ask()];
  const renew = async () => {
    const token = await ask().catch(() => undefined);
    if (token !== undefined) tokens.push(token);
  };
  const timer = setInterval(() => void renew(), everyMs);
  return {
    value: () => tokens.at(-1) as string,
    /** Returns every token of the run: a log may contain a token that was replaced long ago. */
    all: (): readonly string[] => tokens,
    stop: () => clearInterval(timer),
  };
}
