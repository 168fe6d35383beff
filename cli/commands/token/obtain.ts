// Obtains an access token from a file, standard input, the router's token path or the identity provider.

import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Config } from '#lib/config/schema.ts';
import type { OAuth2 } from '../../../plugins/oauth2/create-oauth2.ts';
import { OAuthError } from '../../../plugins/oauth2/token/oauth-error.ts';
import { ProviderError } from '../../../plugins/oauth2/provider/provider-error.ts';
import { routerUrlOf } from '../../engine/engine-access.ts';
import { CommandError } from '../../outcome.ts';

/** The options that select the source of the token. */
export interface TokenSource {
  /** `-` is standard input. */
  readonly tokenFile?: string;
  /** Base URL of the router, or true to derive it from `conductor.apiURL`. */
  readonly router?: string | true;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Requested scopes, separated by spaces. */
  readonly scope?: string;
}

interface TokenDependencies {
  readonly config: Config;
  readonly oauth: OAuth2;
  readonly stdin: NodeJS.ReadableStream;
}

/** Returns the access token. @throws CommandError whose message never contains the token or a secret */
export async function obtainToken(source: TokenSource, { config, oauth, stdin }: TokenDependencies): Promise<string> {
  if (source.tokenFile !== undefined) return readToken(source.tokenFile, stdin);
  const clientId = source.clientId ?? config['ops.clientId'];
  const clientSecret = source.clientSecret ?? config['ops.clientSecret'];
  if (clientId === undefined || clientSecret === undefined) {
    throw new CommandError([
      'no client credentials: set ops.clientId and ops.clientSecret (OPS_CLIENTID, OPS_CLIENTSECRET), or use --client-id and --client-secret, or pass a token with --token-file',
    ]);
  }
  const client = { clientId, clientSecret };
  try {
    if (source.router !== undefined)
      return await requestFromRouter(routerUrlOf(source.router, config), client, source.scope);
    return (await oauth.grant.request(client, source.scope)).access_token;
  } catch (error) {
    if (error instanceof OAuthError) {
      throw new CommandError(
        [`the identity provider issued no token to client "${clientId}": ${error.code}: ${error.message}`],
        { cause: error },
      );
    }
    if (error instanceof ProviderError) {
      throw new CommandError([`the identity provider cannot issue a token now: ${error.message}`], { cause: error });
    }
    throw error;
  }
}

async function readToken(file: string, stdin: NodeJS.ReadableStream): Promise<string> {
  const content = file === '-' ? await text(stdin) : readFileSync(file, 'utf8');
  const token = content.trim();
  if (token === '') throw new CommandError([`there is no token ${file === '-' ? 'on standard input' : `in ${file}`}`]);
  return token;
}

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

async function requestFromRouter(
  router: string,
  { clientId, clientSecret }: Client,
  scope: string | undefined,
): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const url = `${router.replace(/\/+$/, '')}/token/v1/token`;
  const response = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams({ ...form, ...(scope === undefined ? {} : { scope }) }),
    signal: AbortSignal.timeout(10_000),
    redirect: 'error',
  }).catch((error: unknown) => {
    throw new CommandError([`${router} does not respond`], { cause: error });
  });
  const body = (await response.json().catch(() => ({}))) as {
    access_token?: unknown;
    error?: unknown;
    title?: unknown;
  };
  if (response.status === 200 && typeof body.access_token === 'string') return body.access_token;
  const why = [body.error ?? body.title].filter((part) => typeof part === 'string').join('');
  throw new CommandError([`the router issued no token to client "${clientId}": ${response.status} ${why}`.trimEnd()]);
}
