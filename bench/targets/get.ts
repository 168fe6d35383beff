// A target that sends one GET: through the whole stack, or directly to the back end.

import type { HttpClient } from './http-client.ts';
import type { Target } from './target.ts';

export interface GetOptions extends Pick<Target, 'name' | 'text' | 'usesEngine'> {
  /** Client of the origin that receives the requests; several clients are used round-robin. */
  readonly client: HttpClient | readonly HttpClient[];
  readonly path: string;
  /** Sent as a bearer token. */
  readonly token?: string;
}

export function createGet({ client, path, token, ...described }: GetOptions): Target {
  const clients = [client].flat() as HttpClient[];
  let turn = 0;
  const call = { path, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } };
  return { ...described, request: () => (clients[turn++ % clients.length] as HttpClient).text(call) };
}
