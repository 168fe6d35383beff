// A small identity provider over real HTTP that can be told to misbehave, and that remembers what it was asked.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import type { SigningKey, TokenMint } from './forge.ts';

/** How an endpoint behaves. */
export type Behaviour = 'ok' | (typeof badBehaviours)[number];

/** Every way to misbehave. All but `garbage`, `html` and `hang` hold the right response, so that a careless reader takes it. */
export const badBehaviours = ['500', 'html', 'hang', 'drip', 'redirect', 'huge', 'garbage', 'cut', 'refuse'] as const;

/** A request it received. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

/** A JSON response. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

type Endpoint = 'metadata' | 'jwks' | 'token' | 'introspection';

export interface ProviderStandIn extends TokenMint {
  readonly url: string;
  /** What each endpoint does; change it at any time. */
  readonly behaviour: Record<Endpoint, Behaviour>;
  /** Published keys; change it at any time. */
  jwks: unknown;
  /** Members that replace those of the metadata. */
  metadata: Record<string, unknown>;
  answerToken: (request: Received) => JsonAnswer | Promise<JsonAnswer>;
  answerIntrospection: (request: Received) => JsonAnswer | Promise<JsonAnswer>;
  /** What was asked so far. */
  readonly received: Record<Endpoint, Received[]>;
  /** Publishes exactly these keys. */
  publish(...keys: readonly SigningKey[]): void;
  /** Closes the connections of requests that hang. */
  dropConnections(): void;
  stop(): Promise<void>;
}

export interface ProviderStandInOptions {
  /** Appended to the URL to make the issuer, e.g. `/realms/x`. */
  issuerPath?: string;
  /** Which of the two metadata documents it serves. */
  serves?: 'openid' | 'rfc8414';
  nowSeconds?: () => number;
}

const endpointsByPath: Readonly<Record<string, Endpoint>> = {
  '/jwks': 'jwks',
  '/token': 'token',
  '/introspect': 'introspection',
};

/** Starts it on a free port, without keys. */
export async function startProviderStandIn(options: ProviderStandInOptions = {}): Promise<ProviderStandIn> {
  const { issuerPath = '', serves = 'openid', nowSeconds = () => Date.now() / 1000 } = options;
  const metadataPath =
    serves === 'openid'
      ? `${issuerPath}/.well-known/openid-configuration`
      : `/.well-known/oauth-authorization-server${issuerPath}`;
  const server = createServer((request, response) => {
    void handle(provider, request, { response, metadataPath });
  });
  const { url, close } = await listenOnLoopback(server);
  const provider: ProviderStandIn = {
    url,
    issuer: `${url}${issuerPath}`,
    audience: 'urn:test',
    nowSeconds,
    behaviour: { metadata: 'ok', jwks: 'ok', token: 'ok', introspection: 'ok' },
    jwks: { keys: [] },
    metadata: {},
    answerToken: () => ({ status: 200, body: { access_token: 'issued', token_type: 'Bearer', expires_in: 60 } }),
    answerIntrospection: () => ({ status: 200, body: { active: false } }),
    received: { metadata: [], jwks: [], token: [], introspection: [] },
    publish: (...keys) => {
      provider.jwks = { keys: keys.map(({ jwk }) => jwk) };
    },
    dropConnections: () => server.closeAllConnections(),
    stop: close,
  };
  return provider;
}

async function handle(
  provider: ProviderStandIn,
  request: IncomingMessage,
  { response, metadataPath }: { response: ServerResponse; metadataPath: string },
): Promise<void> {
  const path = request.url ?? '';
  const endpoint = path === metadataPath ? 'metadata' : endpointsByPath[path];
  if (endpoint === undefined) {
    response.writeHead(404).end();
    return;
  }
  const received = { headers: request.headers, form: new URLSearchParams(await text(request)) };
  provider.received[endpoint].push(received);
  const behaviour = provider.behaviour[endpoint];
  const { status, body } = await answer(provider, endpoint, received);
  if (behaviour === 'ok') send(response, status, JSON.stringify(body));
  else misbehave[behaviour](response, JSON.stringify(body));
}

async function answer(provider: ProviderStandIn, endpoint: Endpoint, received: Received): Promise<JsonAnswer> {
  const { url, issuer, metadata } = provider;
  if (endpoint === 'token') return provider.answerToken(received);
  if (endpoint === 'introspection') return provider.answerIntrospection(received);
  if (endpoint === 'jwks') return { status: 200, body: provider.jwks };
  return {
    status: 200,
    body: { issuer, jwks_uri: `${url}/jwks`, token_endpoint: `${url}/token`, ...metadata },
  };
}

const json = { 'content-type': 'application/json' };

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, json).end(body);
}

/** By behaviour; `right` is the right response. */
const misbehave: Record<Exclude<Behaviour, 'ok'>, (response: ServerResponse, right: string) => void> = {
  500: (response, right) => send(response, 500, right),
  html: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>captive portal</html>'),
  redirect: (response, right) => response.writeHead(302, { location: '/jwks', ...json }).end(right),
  huge: (response, right) => send(response, 200, right + ' '.repeat(2 * 1024 * 1024)),
  garbage: (response) => send(response, 200, '{"keys":[{"kid":1,"kty":[]},null,"x"]}'),
  cut(response, right) {
    response.writeHead(200, { 'content-length': right.length + 1 }).write(right);
    setImmediate(() => response.destroy());
  },
  refuse: (response) => response.destroy(),
  /** Never silent for long, and never done. */
  drip(response, right) {
    response.writeHead(200, json).write(right);
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(timer));
  },
  hang: () => undefined,
};
