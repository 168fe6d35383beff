// Endpoints of the identity provider: configured, or discovered from its issuer (OpenID Discovery, RFC 8414).

import type { Config } from '#lib/config/schema.ts';
import type { Clock } from '../clock.ts';
import { ProviderError } from './provider-error.ts';
import { parseProviderResponse, type ProviderHttp } from './provider-http.ts';

/** The endpoints in use. */
export interface ProviderEndpoints {
  readonly jwksURL: string;
  /** Undefined when the provider's metadata has none. */
  readonly tokenURL: string | undefined;
  /**
   * Client authentication methods of the token endpoint; the default of RFC 8414 section 2 when the metadata has none.
   */
  readonly tokenAuthMethods: readonly string[];
}

/** Settings of {@link ProviderMetadata}. */
export interface ProviderMetadataOptions {
  config: Pick<Config, 'oauth.jwksURL' | 'oauth.tokenURL'>;
  /** Must equal the `issuer` of the metadata exactly (RFC 8414 section 3.3). */
  issuer: string;
  http: ProviderHttp;
  clock: Clock;
}

const maxAgeMs = 3_600_000;
/** Pause after a failed refresh, in milliseconds. */
const retryMs = 60_000;
const maxBytes = 262_144;
const defaultAuthMethods = ['client_secret_basic'];

/** Discovers the endpoints once an hour. The last result stays in use while the provider is unavailable. */
export class ProviderMetadata {
  readonly #options: ProviderMetadataOptions;
  #known: { endpoints: ProviderEndpoints; untilMs: number } | undefined;
  #inFlight: Promise<ProviderEndpoints> | undefined;

  constructor(options: ProviderMetadataOptions) {
    this.#options = options;
  }

  /**
   * Returns the endpoints.
   * @throws ProviderError when no discovery has succeeded yet and the provider is unavailable
   */
  async endpoints(): Promise<ProviderEndpoints> {
    const { config, clock } = this.#options;
    const { 'oauth.jwksURL': jwksURL, 'oauth.tokenURL': tokenURL } = config;
    if (jwksURL !== undefined && tokenURL !== undefined) {
      return { jwksURL, tokenURL, tokenAuthMethods: defaultAuthMethods };
    }
    if (this.#known !== undefined && clock.ticksMs() < this.#known.untilMs) return this.#known.endpoints;
    this.#inFlight ??= this.#discover().finally(() => (this.#inFlight = undefined));
    try {
      return await this.#inFlight;
    } catch (error) {
      if (this.#known === undefined) throw error;
      this.#known.untilMs = clock.ticksMs() + retryMs;
      return this.#known.endpoints;
    }
  }

  async #discover(): Promise<ProviderEndpoints> {
    const { config, issuer, clock } = this.#options;
    const [url, metadata] = await this.#fetchMetadata();
    if (metadata['issuer'] !== issuer) {
      const found = JSON.stringify(metadata['issuer'] ?? null).slice(0, 200);
      throw new ProviderError('wrong-issuer', `${url}: the issuer is ${found}, but oauth.issuer is "${issuer}"`);
    }
    const endpoint = (name: string) => readEndpoint(metadata[name], { name, url, issuer });
    const jwksURL = config['oauth.jwksURL'] ?? endpoint('jwks_uri');
    if (jwksURL === undefined) throw new ProviderError('bad-answer', `${url}: jwks_uri is missing`);
    const endpoints = {
      jwksURL,
      tokenURL: config['oauth.tokenURL'] ?? endpoint('token_endpoint'),
      tokenAuthMethods: readAuthMethods(metadata['token_endpoint_auth_methods_supported']),
    };
    this.#known = { endpoints, untilMs: clock.ticksMs() + maxAgeMs };
    return endpoints;
  }

  /**
   * Returns the first metadata document that exists. If the provider does not respond to the first request, the second
   * document is not requested.
   */
  async #fetchMetadata(): Promise<[url: string, metadata: Record<string, unknown>]> {
    const { issuer, http } = this.#options;
    let status = 0;
    for (const url of metadataURLs(issuer)) {
      const response = await http.request({ method: 'GET', url, maxBytes });
      if (response.status === 200) return [url, parseProviderResponse(response.body, url)];
      status = response.status;
    }
    throw new ProviderError('bad-status', `${issuer}: its metadata endpoint responded with ${status}`);
  }
}

/**
 * Returns the addresses of the metadata: OpenID Discovery appends its well-known path to the issuer. RFC 8414 section
 * 3.1 inserts its well-known path between the host and the path of the issuer.
 */
function metadataURLs(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

function readEndpoint(value: unknown, from: { name: string; url: string; issuer: string }): string | undefined {
  if (value === undefined) return undefined;
  const secure = from.issuer.startsWith('https:');
  const protocols = secure ? ['https:'] : ['http:', 'https:'];
  if (typeof value === 'string' && URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
  throw new ProviderError('bad-answer', `${from.url}: ${from.name} is not an ${secure ? 'https' : 'http'} URL`);
}

function readAuthMethods(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((method) => typeof method === 'string') : defaultAuthMethods;
}
