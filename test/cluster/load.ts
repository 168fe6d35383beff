// Clients of several colleges: one for each person they change, some that read, one without a good token, one that renews the token.

import { setTimeout as pause } from 'node:timers/promises';
import { newCccid, type Operations, type Outcome } from '../faults/operations.ts';
import { call } from '../stack/client.ts';

/** One request as its client saw it. Times are performance.now(). */
export interface Sent {
  readonly kind: Kind;
  readonly sentAt: number;
  /** Undefined while it is under way. */
  outcome?: Outcome;
  endedAt?: number;
}

export type Kind = 'PATCH' | 'GET' | 'token' | 'without a good token';

export interface ClusterLoad {
  readonly sent: readonly Sent[];
  /** Resolves when the last request has ended. */
  stop(): Promise<void>;
}

/** Persons that are changed, each by one client: two that both colleges have, and some that only one has. */
export const changed: readonly { readonly mis: string; readonly id: string }[] = [
  { mis: '001', id: '0318204' },
  { mis: '001', id: '0320991' },
  { mis: '001', id: '0319375' },
  { mis: '001', id: '0318766' },
  { mis: '002', id: 'B00419407' },
  { mis: '002', id: 'B00421215' },
];

/** Longest pause of a client between two requests, in milliseconds. */
const pauseMs = { PATCH: 500, GET: 200, token: 4_000, 'without a good token': 1_000 } as const;

export function startClusterLoad(operations: Operations): ClusterLoad {
  const sent: Sent[] = [];
  let stopped = false;
  const client = async (kind: Kind, send: () => Promise<Outcome>) => {
    while (!stopped) {
      const entry: Sent = { kind, sentAt: performance.now() };
      sent.push(entry);
      entry.outcome = await send();
      entry.endedAt = performance.now();
      await pause(Math.random() * pauseMs[kind]);
    }
  };
  const reads = [operations.movie, operations.terms, () => operations.termsOf('002')];
  const running = [
    ...changed.map(({ mis, id }) =>
      client('PATCH', () => {
        const cccid = newCccid();
        operations.personalValues.push(cccid);
        return operations.patchPerson(id, cccid, mis);
      }),
    ),
    ...reads.map((read) => client('GET', () => read())),
    client('token', operations.token),
    client('without a good token', operations.refused),
  ];
  return {
    sent,
    async stop() {
      stopped = true;
      await Promise.all(running);
    },
  };
}

/** The token of a client, renewed well before it ends; the old one stays while the identity provider is away. */
export async function keepToken(url: string, clientSecret: string): Promise<{ value(): string; stop(): void }> {
  const form = { grant_type: 'client_credentials', client_id: 'demo', client_secret: clientSecret };
  const ask = async () => {
    const answer = await call(`${url}/token/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`);
    return answer.json<{ access_token: string }>().access_token;
  };
  let token = await ask();
  const renew = () =>
    ask().then(
      (next) => (token = next),
      () => undefined,
    );
  const timer = setInterval(() => void renew(), renewEveryMs);
  return { value: () => token, stop: () => clearInterval(timer) };
}

/** The realm's tokens live for ten minutes. */
const renewEveryMs = 60_000;
