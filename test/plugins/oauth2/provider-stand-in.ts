// A small identity provider over real HTTP that can be made to misbehave, and that stores the requests it receives.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../../dev/loopback-server.ts';
import type { SigningKey } from './forge.ts';

/** How an endpoint behaves. */
export type Behaviour = 'ok' | (typeof badBehaviours)[number];

/**
 * Every way to misbehave. With all except `garbage`, `html`, `hang` and `refuse`, the provider sends the correct body,
 * which a careless client would accept.
 */
export const badBehaviours = ['500', 'html', 'hang', 'drip', 'redirect', 'huge', 'garbage', 'cut', 'refuse'] as const;

/** A received request. */
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

type Responder = (request: Received) => JsonAnswer | Promise<JsonAnswer>;

export interface ProviderStandInOptions {
  /** Path of the issuer, which is appended to the URL, e.g. `/realms/x`. */
  issuerPath?: string;
  /** Which of the two metadata documents the provider serves. */
  serves?: 'openid' | 'rfc8414';
  nowSeconds?: () => number;
}

/** Starts the provider on a free port, without keys. */
export async function startProviderStandIn(options: ProviderStandInOptions = {}) {
  const { issuerPath = '', serves = 'openid', nowSeconds = () => Date.now() / 1000 } = options;
  const isOpenId = serves === 'openid';
  const endpointsByPath: Readonly<Record<string, Endpoint>> = {
    [isOpenId
      ? `${issuerPath}/.well-known/openid-configuration`
      : `/.well-known/oauth-authorization-server${issuerPath}`]: 'metadata',
    '/jwks': 'jwks',
    '/token': 'token',
    '/introspect': 'introspection',
  };
  const server = createServer(async (request, response) => {
    const endpoint = endpointsByPath[request.url ?? ''];
    if (endpoint === undefined) return void response.writeHead(404).end();
    const received = { headers: request.headers, form: new URLSearchParams(await text(request)) };
    provider.received[endpoint].push(received);
    const behaviour = provider.behaviour[endpoint];
    const { status, body } = await responders[endpoint](received);
    if (behaviour === 'ok') send(response, status, JSON.stringify(body));
    else misbehave[behaviour](response, JSON.stringify(body));
  });
  const { url, close } = await listenOnLoopback(server);
  const issuer = `${url}${issuerPath}`;
  const responders: Readonly<Record<Endpoint, Responder>> = {
    metadata: () => {
      const usual = { issuer, jwks_uri: `${url}/jwks`, token_endpoint: `${url}/token` };
      return { status: 200, body: { ...usual, ...provider.metadata } };
    },
    jwks: () => ({ status: 200, body: provider.jwks }),
    token: (received) => provider.answerToken(received),
    introspection: (received) => provider.answerIntrospection(received),
  };
  const provider = {
    ...{ url, issuer, audience: 'urn:test', nowSeconds },
    /** Behaviour of each endpoint; tests may change it at any time. */
    behaviour: { metadata: 'ok', jwks: 'ok', token: 'ok', introspection: 'ok' } as Record<Endpoint, Behaviour>,
    /** Published keys; tests may change them at any time. */
    jwks: { keys: [] } as unknown,
    /** Members that replace members of the metadata. */
    metadata: {} as Record<string, unknown>,
    answerToken: (() => ({
      status: 200,
      body: { access_token: 'issued', token_type: 'Bearer', expires_in: 60 },
    })) as Responder,
    answerIntrospection: (() => ({ status: 200, body: { active: false } })) as Responder,
    /** Requests so far, by endpoint. */
    received: { metadata: [], jwks: [], token: [], introspection: [] } as Readonly<Record<Endpoint, Received[]>>,
    /** Publishes exactly these keys. */
    publish(...keys: readonly SigningKey[]) {
      provider.jwks = { keys: keys.map(({ jwk }) => jwk) };
    },
    /** Closes the connections of requests that hang. */
    dropConnections: () => server.closeAllConnections(),
    stop: close,
  };
  return provider;
}

export type ProviderStandIn = Awaited<ReturnType<typeof startProviderStandIn>>;

const json = { 'content-type': 'application/json' };

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, json).end(body);
}

/** Handlers by behaviour; `right` is the correct response. */
const misbehave: Record<Exclude<Behaviour, 'ok'>, (response: ServerResponse, right: string) => void> = {
  500: (response, right) => send(response, 500, right),
  html: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>captive portal</html>'),
  redirect: (response, right) => response.writeHead(302, { location: '/jwks', ...json }).end(right),
  huge: (response, right) => send(response, 200, right + ' '.repeat(2 * 1024 * 1024)),
  garbage: (response) => send(response, 200, '{"keys":{"kid":1,"kty":[]}}'),
  cut(response, right) {
    response.writeHead(200, { 'content-length': right.length + 1 }).write(right);
    setImmediate(() => response.destroy());
  },
  refuse: (response) => response.destroy(),
  /** Sends bytes regularly and never ends. */
  drip(response, right) {
    response.writeHead(200, json).write(right);
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(timer));
  },
  hang: () => undefined,
};
