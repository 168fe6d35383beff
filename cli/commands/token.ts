// The command `token`: obtains or reads an access token, and shows its claims and which routes accept it.

import type { Config } from '#lib/config/schema.ts';
import type { AccessToken } from '../../plugins/oauth2/access-token/access-token.ts';
import type { OAuth2 } from '../../plugins/oauth2/create-oauth2.ts';
import { decodeToken, type ShownClaims, showClaims } from '../../plugins/oauth2/explain/decode-token.ts';
import { explainRefusal, type Refusal } from '../../plugins/oauth2/explain/explain-refusal.ts';
import { type GatewayRoute, routesWith } from '../../gateway/plugin-api/gateway-routes.ts';
import { addDirOption, configFolderOf, type FolderOptions } from '../gateway/gateway-folder.ts';
import { paint, printable } from '../output/colours.ts';
import { loadCommandConfig } from '../gateway/command-config.ts';
import { type Outcome, CommandError } from '../outcome.ts';
import { readGateway, routeNamed } from '../gateway/read-gateway.ts';
import { alignColumns, formatTable } from '../output/table.ts';
import type { judgeRoute as JudgeRoute, Judgement } from './token/judge-route.ts';
import { openOAuth } from './token/oauth-parts.ts';
import { obtainToken, type TokenSource } from './token/obtain.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';

/** Options of `token`: the source of the token, and the request for which the token is checked. */
export interface TokenOptions extends TokenSource, FolderOptions {
  readonly route?: string;
  readonly method?: string;
  readonly path?: string;
  readonly raw?: boolean;
}

/** The command `token`: obtains or reads an access token and shows which routes accept it. */
export const tokenCommand: CommandDefinition<TokenOptions> = {
  name: 'token',
  description:
    'Get or read an access token. Show its claims and, for each route, whether the route accepts the token and, if not, why. The token itself is shown only with --raw.',
  exitCodes: {
    0: 'the token is valid, and the named route, if any, accepts it',
    1: 'error: there is no token, or it cannot be checked now',
    2: 'the token is refused, or the named route refuses it or may refuse it',
  },
  examples: [
    {
      command: 'token',
      does: 'get a token for ops.clientId from the identity provider, and show the routes that accept it',
    },
    {
      command: 'token --token-file - --route adaptor --method PATCH',
      does: 'show why this route rejects the token on standard input',
    },
    {
      command: 'token --client-id demo --route adaptor --method PATCH --path /adaptor/001/x',
      does: 'also check the limits on colleges; reads the secret from OPS_CLIENTSECRET',
    },
    { command: 'token --raw', does: 'print only the token, for curl' },
  ],
  addOptions: (command) =>
    addDirOption(command)
      .option('--token-file <file>', 'check the token in this file; - is standard input')
      .option(
        '--router [url]',
        "get the token at the router's token path (default: directly from the identity provider, which is oauth.issuer or that of the running stack)",
      )
      .option('--client-id <id>', 'OAuth client (default: ops.clientId)')
      .option('--client-secret <secret>', 'its secret; command lines are visible to others, so prefer OPS_CLIENTSECRET')
      .option('--scope <scopes>', 'scopes to request, separated by spaces (default: all scopes of the client)')
      .option('--route <name>', 'check this route of gateway.config.yml (default: all)')
      .option('--method <method>', 'check this method (default: all methods of the route)')
      .option(
        '--path <path>',
        'also check whether the client may use this path, such as /adaptor/001/x: whether its MIS code is allowed or, on the engine API, whether the router forwards the call',
      )
      .option(
        '--raw',
        'print only the token; if it is refused or cannot be checked, print the reason on stderr instead',
      ),
  run: runToken,
};

/** Obtains a token, checks it and evaluates the routes. @throws ConfigError or CommandError */
async function runToken(options: TokenOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  checkPath(options.path);
  const config = await loadTokenConfig(options, host);
  const gateway = await readGateway(config, configFolderOf(options));
  const routes = routesWith(gateway.routes, 'bearer');
  const selectedRoutes = options.route === undefined ? routes : [routeNamed(routes, options.route)];
  const oauth = openOAuth(config);
  try {
    const token = await obtainToken(options, { config, oauth, stdin: host.stdin });
    const checked = await check(token, config, oauth);
    const judgements =
      'scopes' in checked.result ? await judge(selectedRoutes, checked.result, { options, config, ...gateway }) : [];
    const outcome = describe(checked, judgements, options);
    if (options.raw !== true) return outcome;
    return outcome.exitCode === 0
      ? { ...outcome, lines: [token], json: { ...outcome.json, token } }
      : { ...outcome, stream: 'stderr' };
  } finally {
    await oauth.stop();
  }
}

/** @throws CommandError for a path that no request can have */
function checkPath(path: string | undefined): void {
  if (path === undefined) return;
  if (!path.startsWith('/')) throw new CommandError([`--path: ${path} must begin with /`]);
  try {
    decodeURIComponent(path.split('?', 1)[0] ?? '');
  } catch (cause) {
    throw new CommandError([`--path: ${path} is not percent-encoded UTF-8; a literal % is %25`], { cause });
  }
}

async function loadTokenConfig(options: TokenOptions, host: CommandContext['host']): Promise<Config> {
  const routerKeys = options.router === true ? (['conductor.apiURL'] as const) : [];
  const config = await loadCommandConfig(host, ['oauth.issuer', 'oauth.audience', ...routerKeys], options);
  if (config['oauth.issuer'] !== undefined) return config;
  throw new CommandError([
    'oauth.issuer is not set, and no stack is running here: set the key in a property file or as OAUTH_ISSUER, or start a stack with npm start',
  ]);
}

interface Checked {
  readonly characters: number;
  readonly claims: ShownClaims | null;
  readonly result: AccessToken | Refusal;
}

/** Checks the token with the code of the bearer policy. */
async function check(token: string, config: Config, { accessTokens }: OAuth2): Promise<Checked> {
  const decoded = decodeToken(token);
  const claims = decoded === null ? null : showClaims(decoded);
  const result = await accessTokens.check(token).catch((error: unknown) => explainRefusal(error, claims, config));
  return { characters: token.length, claims, result };
}

const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

async function judge(
  routes: readonly GatewayRoute[],
  { clientId, scopes }: AccessToken,
  { options, ...rules }: Parameters<typeof JudgeRoute>[2] & { options: TokenOptions },
): Promise<Judgement[]> {
  // Imported here because other commands do not need Express Gateway, which loads slowly.
  const { judgeRoute } = await import('./token/judge-route.ts');
  const { method, path } = options;
  return routes.flatMap((route) => {
    const methods = method === undefined ? (route.endpoint.methods ?? allMethods) : [method.toUpperCase()];
    return methods.map((each) =>
      judgeRoute(route, { clientId, scopes, method: each, ...(path === undefined ? {} : { path }) }, rules),
    );
  });
}

function describe(
  { characters, claims, result }: Checked,
  judgements: readonly Judgement[],
  { route }: TokenOptions,
): Outcome {
  const isValid = 'scopes' in result;
  const isLetIn = route === undefined || judgements.some(({ outcome }) => outcome === 'passes');
  const facts =
    claims === null ? [['kind', 'opaque']] : [['kind', 'JWT'], ...Object.entries(claims as Record<string, string>)];
  const verdict = isValid
    ? `${paint('good', 'valid')}: client ${printable(result.clientId)}, scopes ${printable([...result.scopes].join(' ') || 'none')}`
    : `${paint('bad', `refused with ${result.status}`)}: ${result.reason}: ${printable(result.explanation)}`;
  const rows = judgements.map((judgement) => [
    judgement.route,
    judgement.method,
    describeOutcome(judgement),
    printable(judgement.reason ?? ''),
  ]);
  const exitCode = !isValid && result.status === 503 ? 1 : isValid && isLetIn ? 0 : 2;
  return {
    exitCode,
    lines: [
      ...alignColumns(
        [...facts, ['length', `${characters} characters`]].map(([name = '', value = '']) => [
          nameOf(name),
          printable(value),
        ]),
      ),
      '',
      `token ${verdict}`,
      ...(rows.length === 0 ? [] : ['', ...formatTable(['route', 'method', 'result', 'why'], rows)]),
    ],
    json: {
      ok: exitCode === 0,
      problems: isValid ? [] : [`token refused with ${result.status}: ${result.reason}: ${result.explanation}`],
      token: { characters, ...(claims ?? {}) },
      ...(isValid
        ? { valid: true, clientId: result.clientId, scopes: [...result.scopes] }
        : { valid: false, ...result }),
      routes: judgements,
    },
  };
}

function describeOutcome({ outcome, status }: Judgement): string {
  if (outcome === 'passes') return paint('good', 'passes');
  return outcome === 'refused' ? paint('bad', `refused with ${status}`) : paint('warning', 'undecided');
}

/** Converts `issuedAt` to `issued at`. */
function nameOf(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
