// Starts the plugin with the stand-in provider and loaded keys, as most tests need it.

import { request as httpRequest } from 'node:http';
import { pollUntil } from '../../stack/poll-until.ts';
import type { Clock } from '../../../plugins/oauth2/clock.ts';
import { createKey, createToken, type SigningKey, type TokenParts } from './forge.ts';
import { startPluginHost } from './plugin-host.ts';
import { type ProviderStandInOptions, startProviderStandIn } from './provider-stand-in.ts';

interface SentRequest {
  readonly method?: string;
  readonly body?: string | Buffer;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** The text as JSON. */
  readonly body: Record<string, unknown>;
}

export interface SecuredHostOptions {
  clock?: Clock;
  config?: Record<string, string>;
  provider?: ProviderStandInOptions;
  key?: SigningKey;
}

/** Most tests share one key, because keys are expensive to create and test keys need not be secret. */
const usualKey = createKey();

/** Longer than the pauses of this process on a busy machine, because the provider runs in the same process. */
const timeoutMs = '3000';

export async function startSecuredHost(options: SecuredHostOptions = {}) {
  const { clock, config = {}, key = usualKey } = options;
  const nowSeconds = clock && (() => clock.wallMs() / 1000);
  const provider = await startProviderStandIn({ ...(nowSeconds && { nowSeconds }), ...options.provider });
  provider.publish(key);
  const host = await startPluginHost({
    config: { OAUTH_ISSUER: provider.issuer, OAUTH_AUDIENCE: provider.audience, OAUTH_TIMEOUTMS: timeoutMs, ...config },
    ...(clock && { clock }),
  });
  await pollUntil('the keys to be loaded', async () => (await host.readiness()).length === 0);
  const send = (path: string, fields: readonly string[], request?: SentRequest) =>
    sendFields(`${host.url}${path}`, fields, request);
  return {
    provider,
    host,
    /** The only key that is published at the start. */
    key,
    /** Returns a token that is signed with `key` and valid except for `parts`. */
    token: (parts?: TokenParts) => createToken(key, provider, parts),
    /** Sends a request with `Authorization: Bearer <token>`. */
    call: (path: string, token: string, method = 'GET') => send(path, ['Authorization', `Bearer ${token}`], { method }),
    /** Sends a request with exactly these header fields: pairs of name and value, which may repeat. */
    send,
    /** Returns the value of a counter for one result. */
    async count(metric: string, result: string) {
      const { values } = (await host.metrics.getSingleMetric(metric)?.get()) ?? { values: [] };
      return values.find(({ labels }) => labels['result'] === result)?.value ?? 0;
    },
    async stop() {
      await host.stop();
      await provider.stop();
    },
  };
}

export type SecuredHost = Awaited<ReturnType<typeof startSecuredHost>>;

/** Sends one request over node:http, which sends header fields unchanged. */
export function sendFields(
  url: string,
  fields: readonly string[],
  { method = 'GET', body }: SentRequest = {},
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { host } = new URL(url);
    const length = body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))];
    const request = httpRequest(url, { method, headers: ['Host', host, ...fields, ...length] as never, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const parsed = () => JSON.parse(text) as Record<string, unknown>;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          get body() {
            return parsed();
          },
        });
      });
    });
    request.end(body);
  });
}
