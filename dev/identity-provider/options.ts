// Reads the options of the identity provider from the configuration.

import { loadConfig } from '#lib/config/load.ts';
import type { IdentityProviderOptions } from './start-identity-provider.ts';

/**
 * Reads the options.
 * @throws ConfigError when the configuration is not valid
 * @throws Error when NODE_ENV is production, since the clients' secrets are public
 */
export async function readOptions(env: NodeJS.ProcessEnv): Promise<Omit<IdentityProviderOptions, 'log'>> {
  if (env['NODE_ENV'] === 'production') {
    throw new Error(
      'the embedded identity provider is for development: the secrets of its clients are public. ' +
        'With NODE_ENV=production, set OAUTH_ISSUER to your own identity provider',
    );
  }
  const { config } = await loadConfig({ env });
  return {
    port: config['idp.port'],
    stateDir: config['state.dir'],
    issuer: config['oauth.issuer'],
    audience: config['oauth.audience'],
    tokenSeconds: readTokenSeconds(env['IDP_TOKEN_SECONDS']),
  };
}

/** Reads the lifetime of tokens. Not a key of the configuration, since only tests need short-lived tokens. */
function readTokenSeconds(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const seconds = Number(text);
  if (Number.isSafeInteger(seconds) && seconds > 0) return seconds;
  throw new Error(`IDP_TOKEN_SECONDS must be a whole number of seconds above 0, but is ${JSON.stringify(text)}`);
}
