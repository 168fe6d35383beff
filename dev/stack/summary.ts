// What the terminal shows once the stack is ready: what runs where, and lines to try it with.

import { dirname, relative } from 'node:path';
import { devClients } from '../identity-provider/clients.ts';
import type { StackUrls } from './options.ts';

export interface SummaryOptions {
  readonly urls: StackUrls;
  /** How the engine runs: `Java 25`, `Docker`, `given by CONDUCTOR_URL`. */
  readonly engineKind: string;
  readonly logFiles: readonly string[];
  /** Time from the start until it was ready, in milliseconds. */
  readonly elapsedMs: number;
}

/** Somebody both colleges of the stand-ins know, under another id each. */
const person = { source: '0320991', interested: 'B00418052', cccid: 'ABL0199' };

export function summary({ urls, engineKind, logFiles, elapsedMs }: SummaryOptions): string {
  const get = `curl -H "Authorization: Bearer $TOKEN" ${urls.router}`;
  const persons = '/mock/colleges/001/persons';
  return [
    `Ready after ${(elapsedMs / 1000).toFixed(1)} s. Ctrl-C stops everything.`,
    '',
    `  router             ${urls.router}`,
    `  what it offers     ${urls.router}/docs`,
    `  operations         ${urls.operations}/  /health/ready  /metrics`,
    `  workflow engine    ${urls.engine}/api  (${engineKind})`,
    `  identity provider  ${urls.identityProvider}`,
    `  back ends          ${urls.backEnds}`,
    `  workers            default pool, and domain 002 beside adaptor 002`,
    `  logs               ${logPlace(logFiles)}`,
    '',
    'Get a token, then use it:',
    `  TOKEN=$(curl -s ${urls.router}/token/v1/token -d grant_type=client_credentials \\`,
    `    -d client_id=demo -d client_secret=demo-secret | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  ${get}/movies/Metropolis`,
    `  ${get}/lmsDW/001/dataSync/`,
    `  ${get}/adaptor/001${persons}`,
    '',
    'Change a person at college 001; a moment later (after a first start: within a minute) college 002 has the cccid too:',
    `  ${get}/adaptor/001${persons}/${person.source} \\`,
    `    -X PATCH -H 'content-type: application/json' -d '{"cccid":"${person.cccid}"}'`,
    `  ${get}/adaptor/002/mock/colleges/002/persons/${person.interested}`,
    '',
    'Clients (id / secret: scopes):',
    ...shownClients().map(({ clientId, clientSecret, scopes }) => {
      return `  ${`${clientId} / ${clientSecret}`.padEnd(24)} ${scopes.join(' ')}`;
    }),
    '',
  ].join('\n');
}

function shownClients() {
  const shown = ['demo', 'reader', 'worker', 'ops'];
  return devClients.filter(({ clientId }) => shown.includes(clientId));
}

function logPlace(files: readonly string[]): string {
  const folder = relative('', dirname(files[0] ?? '')) || '.';
  return `${folder.startsWith('..') ? dirname(files[0] ?? '') : folder}/*.log`;
}
