// Fuzz tests of the running router with unusual requests and with mutations of valid requests. The tests are short by
// default and long with `npm run fuzz`.
//
// A failure prints its seed and the bytes, in the notation of the corpus: add these bytes to test/wire/corpus/fuzz/.
// TEST_SEED repeats a run. FUZZ_SECONDS limits a run by time instead of by the number of requests.

import { fc } from '../run/properties.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareStack, type Stack } from '../stack/stack.ts';
import { call, tokenOf } from '../stack/client.ts';
import { backEndTag, wrongAtBackEnd, wrongWith } from '../fuzz/checks.ts';
import { mutate, mutations } from '../fuzz/mutations.ts';
import { fuzzRequest, toWire } from '../fuzz/requests.ts';
import { readCorpus } from '../wire/corpus.ts';
import { toBytes, toNotation } from '../wire/notation.ts';
import { ConnectionEnded, RawConnection } from '../wire/raw-client.ts';
import { type RawBackEnd, startRawBackEnd } from '../workers/raw-back-end.ts';
import { engineOfRun } from './engine-of-run.ts';
import { byDepth } from '../run/depth.ts';
import { seedOfRun } from '../run/seed.ts';

/** Seconds for each of the two tests; with 0, the number of requests is the limit. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 0);
const clients = 8;
/** Limit on the requests of each client. */
const extent =
  seconds > 0 ? { numRuns: 10_000_000, interruptAfterTimeLimit: seconds * 1_000 } : { numRuns: byDepth(40, 1_000) };
const answer = `HTTP/1.1 200 OK\r\nETag: ${backEndTag}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok`;

let stack: Stack;
let backEnd: RawBackEnd;
let token: string;
const ids = new Set<string>();
const statuses = new Map<number, number>();

beforeAll(async () => {
  backEnd = await startRawBackEnd((socket, request) => {
    socket.write(request.startsWith('HEAD ') ? answer.slice(0, -2) : answer);
  });
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    router: {
      ROUTER_HEADERSTIMEOUTMS: '300',
      ROUTER_REQUESTTIMEOUTMS: '400',
      // Hides the log lines that random wrong secrets cause.
      LOG_LEVEL: 'warn',
    },
    workers: {
      ADAPTOR_777_URL: backEnd.url,
      MOVIES_URL: `${backEnd.url}/films`,
      LMSDW_URL: `${backEnd.url}/warehouse`,
    },
  });
  token = await tokenOf(stack.url);
});
afterAll(async () => {
  await stack?.stop();
  await backEnd?.stop();
});

/** Sends bytes on a new connection and checks every response. @throws Error that shows the bytes */
async function play(bytes: Buffer, headOnly: boolean): Promise<void> {
  const connection = new RawConnection(stack.url);
  try {
    connection.send(bytes);
    for (;;) {
      const found = await connection.answer({ headOnly, timeoutMs: 40_000 });
      statuses.set(found.status, (statuses.get(found.status) ?? 0) + 1);
      const wrong = wrongWith(found, ids);
      if (wrong !== null) throw new Error(wrong);
      if (found.status >= 200) break;
    }
  } catch (error) {
    // A connection that was closed without a response is not a failure: the bytes were not a request.
    if (!(error instanceof ConnectionEnded))
      throw new Error(`${String(error)}\n${toNotation(bytes)}`, { cause: error });
  } finally {
    connection.destroy();
  }
}

/** Runs a property with several clients at the same time. */
async function fuzz(property: () => fc.IAsyncProperty<unknown[]>): Promise<void> {
  await Promise.all(
    Array.from({ length: clients }, (_, client) =>
      fc.assert(property(), { seed: Number(seedOfRun()) + client, ...extent }),
    ),
  );
}

let runs = 0;
const timeout = seconds * 1_000 + byDepth(60_000, 300_000);

describe('fuzzing', () => {
  it(
    'nearly valid requests: the router never fails, reflects nothing, and gives each response its own request id',
    async () => {
      await fuzz(
        () =>
          fc.asyncProperty(fuzzRequest, async (request) => {
            runs += 1;
            await play(toWire(request, token), request.method === 'HEAD');
          }) as fc.IAsyncProperty<unknown[]>,
      );
    },
    timeout,
  );

  it(
    'mutations of valid requests: the router never fails',
    async () => {
      const fine = [...readCorpus().values()].filter(({ backEnd: seen }) => seen.length > 0);
      const bases = fine
        .map(({ notation }) => toBytes(notation, { token, marker: 'fuzz' }))
        .filter((bytes) => bytes.length < 4_000 && !bytes.includes('HEAD '));
      await fuzz(
        () =>
          fc.asyncProperty(fc.constantFrom(...bases), mutations, async (base, steps) => {
            runs += 1;
            const bytes = mutate(base, steps);
            if (!bytes.includes('HEAD ')) await play(bytes, false);
          }) as fc.IAsyncProperty<unknown[]>,
      );
    },
    timeout,
  );

  it('the back end received only well-formed requests with allowed fields, and the router still serves', async () => {
    expect(backEnd.requests.map(wrongAtBackEnd).filter((wrong) => wrong !== null)).toEqual([]);
    const served = await call(`${stack.url}/adaptor/777/x`, { headers: { authorization: `Bearer ${token}` } });
    expect(served.status).toBe(200);
    expect(stack.router.output()).not.toContain('"level":"error"');
    const counts = Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b));
    process.stderr.write(
      `${JSON.stringify({ runs, backEnd: backEnd.requests.length, ids: ids.size, statuses: counts })}\n`,
    );
  });
});
