// Checks the given identity provider before the stack starts, by requesting its keys and a token for the workers'
// client.

import { Registry } from 'prom-client';
import { pathOfPage } from '#lib/config/folders.ts';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { InvalidTokenError } from '../../plugins/oauth2/access-token/invalid-token-error.ts';
import { systemClock } from '../../plugins/oauth2/clock.ts';
import { createOAuth2, type OAuth2 } from '../../plugins/oauth2/create-oauth2.ts';
import { decodeToken, showClaims } from '../../plugins/oauth2/explain/decode-token.ts';
import { explainRejection } from '../../plugins/oauth2/explain/explain-refusal.ts';
import { createMetrics } from '../../plugins/oauth2/metrics.ts';

const workerScope = 'conductor_worker';
const whereToRead = `${pathOfPage('how-to/use-your-identity-provider.md')} says what to create at the identity provider`;

/**
 * Checks that the router could verify access tokens, and that the workers would get a token that the router accepts.
 * @param env environment of the stack's programs
 * @throws Error that says what the identity provider or the settings lack
 */
export async function checkIdentityProvider(env: NodeJS.ProcessEnv): Promise<void> {
  const { config } = await loadConfig({ env });
  const oauth = createOAuth2({
    ...{ config, clock: systemClock, log: createLog('npm start', 'silent') },
    metrics: createMetrics(new Registry()),
  });
  try {
    oauth.keys.start();
    await oauth.keys.fetched;
    if (oauth.keys.unavailable !== undefined) throw new Error(`oauth.issuer: ${oauth.keys.unavailable}`);
    await checkWorkersClient(oauth, config);
  } finally {
    await oauth.stop();
  }
}

async function checkWorkersClient({ grant, accessTokens }: OAuth2, config: Config): Promise<void> {
  const { 'workers.clientId': clientId = '', 'workers.clientSecret': clientSecret = '' } = config;
  const client = `workers' client ${clientId} (workers.clientId, workers.clientSecret)`;
  const { access_token: token } = await grant.request({ clientId, clientSecret }, undefined).catch((error: Error) => {
    const code = (error as { code?: unknown }).code ?? error.message;
    throw new Error(`${config['oauth.issuer']} issues no token to the ${client}: ${String(code)}. ${whereToRead}.`, {
      cause: error,
    });
  });
  const { scopes } = await accessTokens.check(token).catch((error: unknown) => {
    if (!(error instanceof InvalidTokenError)) throw error;
    const decoded = decodeToken(token);
    const why = explainRejection(error, decoded === null ? null : showClaims(decoded), config);
    throw new Error(
      `The router would reject the token of the ${client}: ${why}${why.endsWith('?') ? '' : '.'} ${whereToRead}.`,
      { cause: error },
    );
  });
  if (!scopes.has(workerScope)) {
    const found = scopes.size === 0 ? 'none' : [...scopes].join(' ');
    throw new Error(`The token of the ${client} lacks the scope ${workerScope}; its scopes: ${found}. ${whereToRead}.`);
  }
}
