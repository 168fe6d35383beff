// Reads what the identity provider needs from the configuration, and keeps it out of production.

import { loadConfig } from '#lib/config/load.ts';
import type { IdentityProviderOptions } from './start-identity-provider.ts';

/**
 * @throws ConfigError when the configuration is not valid
 * @throws Error in production, where clients with published secrets have no place
 */
export async function readOptions(env: NodeJS.ProcessEnv): Promise<Omit<IdentityProviderOptions, 'log'>> {
  if (env['NODE_ENV'] === 'production') {
    throw new Error(
      'the embedded identity provider is for development: its clients have published secrets. ' +
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

/** Not a key of the product's configuration: only tests want tokens that end soon. */
function readTokenSeconds(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const seconds = Number(text);
  if (Number.isSafeInteger(seconds) && seconds > 0) return seconds;
  throw new Error(`IDP_TOKEN_SECONDS must be a whole number of seconds above 0, but is ${JSON.stringify(text)}`);
}
