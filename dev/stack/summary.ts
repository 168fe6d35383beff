// Composes the text that `npm start` prints: addresses of the programs, and commands to try.

import { join, relative } from 'node:path';
import { devClients } from '../identity-provider/clients.ts';
import type { StackSettings } from './options.ts';

/** A person at both colleges of the stand-ins, with the id at each college. */
const person = { source: '0320991', interested: 'B00418052', cccid: 'ABL0199' };

type Summarised = Pick<
  StackSettings,
  'urls' | 'stateDir' | 'givenIssuer' | 'workersClient' | 'usesStandIns' | 'domains' | 'isDatabaseHidden' | 'env'
>;

/** These lines follow the line about the engine when other programs must not open its database. */
const hiddenDatabase = [
  "Its SQLite file is open inside Docker's virtual machine, so no other program may open it:",
  'event records are not pruned, and the command `events` does not work, not even with --database.',
  'If you install Java, the engine runs without Docker, and both are possible.',
];

/**
 * Returns the summary of a stack.
 * @param engineKind how the engine is run: `Java 25`, `Docker`, `given by conductor.url`
 */
export function summary(settings: Summarised, engineKind: string): string {
  const { urls, stateDir, givenIssuer, usesStandIns, domains, isDatabaseHidden } = settings;
  return [
    'Starting:',
    '',
    `  router             ${urls.router}`,
    `  API documentation  ${urls.router}/docs`,
    `  operations         ${urls.operations}/  /health/ready  /metrics`,
    `  workflow engine    ${urls.engine}/api  (${engineKind})`,
    ...(isDatabaseHidden ? hiddenDatabase.map((line) => ' '.repeat(21) + line) : []),
    `  identity provider  ${urls.identityProvider}${givenIssuer === undefined ? '' : '  (given by oauth.issuer)'}`,
    ...(usesStandIns ? [`  back ends          ${urls.backEnds}`] : []),
    `  workers            ${['default pool', ...domains.map(({ name }) => `domain ${name}`)].join(', ')}`,
    `  logs               ${shortPath(join(stateDir, 'logs'))}/*.log`,
    '',
    ...(givenIssuer === undefined ? ownTokens(settings) : givenTokens(settings)),
    '',
  ].join('\n');
}

function ownTokens(settings: Summarised): string[] {
  const { urls } = settings;
  const shown = ['demo', 'reader', 'worker', 'ops'];
  const clients = devClients.filter(({ clientId }) => shown.includes(clientId));
  return [
    'Get a token, then use it:',
    `  TOKEN=$(${curlOf(settings)} -s ${urls.router}/token/v1/token -d grant_type=client_credentials \\`,
    `    -d client_id=demo -d client_secret=demo-secret | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    ...calls(settings),
    '',
    'Clients (id / secret: scopes):',
    ...clients.map(({ clientId, clientSecret, scopes }) => {
      return `  ${`${clientId} / ${clientSecret}`.padEnd(24)} ${scopes.join(' ')}`;
    }),
  ];
}

function givenTokens(settings: Summarised): string[] {
  const { givenIssuer, workersClient } = settings;
  return [
    `The router accepts the access tokens of ${givenIssuer}, and no others.`,
    `The workers get their tokens from it through the router, as client ${workersClient} (WORKERS_CLIENTID, WORKERS_CLIENTSECRET),`,
    'which needs the scope conductor_worker.',
    '',
    'With an access token of one of your clients in TOKEN:',
    ...calls(settings),
  ];
}

/** Returns the command that calls the router. With TLS, the command names the certificate, which curl does not know. */
function curlOf({ urls: { router }, env }: Summarised): string {
  const file = env['NODE_EXTRA_CA_CERTS'];
  return router.startsWith('https:') && file ? `curl --cacert ${file}` : 'curl';
}

function calls(settings: Summarised): string[] {
  const { urls, usesStandIns } = settings;
  const { router } = urls;
  const call = `${curlOf(settings)} -H "Authorization: Bearer $TOKEN" ${router}`;
  if (!usesStandIns) return [`  ${call}/<path>`, `The paths are on ${router}/docs`];
  const persons = '/mock/colleges/001/persons';
  return [
    `  ${call}/movies/Metropolis`,
    `  ${call}/lmsDW/001/dataSync/`,
    `  ${call.replace(router, `"${router}`)}/adaptor/001/sections?sisTermId=2026FA&sisCourseId=MATH-31&mis=001"`,
    '',
    'Change a person at college 001 (scope sisdata_W). A moment later, college 002 has the cccid too',
    '(just after the very first start, this can take up to a minute):',
    `  ${call}/adaptor/001${persons}/${person.source} \\`,
    `    -X PATCH -H 'content-type: application/json' -d '{"cccid":"${person.cccid}"}'`,
    `  ${call}/adaptor/002/mock/colleges/002/persons/${person.interested}`,
  ];
}

function shortPath(path: string): string {
  const short = relative('', path);
  return short.startsWith('..') ? path : short;
}
