// Tests of the corpus of raw bytes on the running router: the exact responses, the state of the connection, and proof
// from the back end and the engine that no other request was processed.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, callerFor, tokenOf } from '../stack/client.ts';
import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { readCorpus } from '../wire/corpus.ts';
import { toBytes, type WireCase } from '../wire/notation.ts';
import { type Played, playCase } from '../wire/play-case.ts';
import { RawConnection } from '../wire/raw-client.ts';
import { type RawBackEnd, startRawBackEnd } from '../workers/raw-back-end.ts';
import { engineOfRun } from './engine-of-run.ts';

const corpus = readCorpus();
const answer = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok';
let tap: RecordingProxy;
let backEnd: RawBackEnd;
let stack: Stack;
let demo: Caller;
let token: string;
/** Results of the cases by name. */
const results = new Map<string, { played: Played | Error; marker: string }>();

beforeAll(async () => {
  tap = await startRecordingProxy(engineOfRun().url);
  backEnd = await startRawBackEnd((socket, request) => {
    const reply = () => socket.write(answer);
    if (request.includes('/slow ')) setTimeout(reply, 150);
    else reply();
  });
  stack = await shareStack({ engineUrl: tap.url, workers: { ADAPTOR_777_URL: backEnd.url } });
  token = await tokenOf(stack.url);
  demo = await callerFor(stack.url);
  const left = [...corpus];
  const play = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const marker = randomUUID();
      const played = await playCase(stack.url, next[1], { token, marker }).catch((error: Error) => error);
      results.set(next[0], { played, marker });
    }
  };
  await Promise.all(Array.from({ length: 8 }, play));
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([backEnd?.stop(), tap?.stop()]);
});

/** Returns everything that the router has sent to the engine. */
const sent = () =>
  tap.requests.map(({ target, headers, body }) => `${target}\n${JSON.stringify(headers)}\n${body}`).join('\n');

/** Returns `METHOD target body` of a received request. */
function describeRequest(request: string): string {
  const [head = '', ...body] = request.split('\r\n\r\n');
  return `${head.split(' HTTP/1.1', 1)[0]} ${body.join('\r\n\r\n')}`;
}

/** Drops repeated reads, because a worker repeats a read whose response was lost. */
const distinctReads = (requests: string[]) =>
  requests.filter((request, index) => !request.startsWith('GET ') || requests.indexOf(request) === index);

const wantedOf = (wireCase: WireCase, marker: string) =>
  wireCase.backEnd.map((line) => toBytes(line, { token, marker }).toString('latin1'));

describe('bytes', () => {
  it.each([...corpus].map(([name, wireCase]) => [name, wireCase.title, wireCase] as const))(
    '%s: %s',
    (name, _title, wireCase) => {
      const { played, marker } = results.get(name)!;
      if (played instanceof Error) throw played;
      expect({ answers: played.answers, end: played.end }).toEqual({
        answers: wireCase.answers.map(({ status, code }) => (code === undefined ? `${status}` : `${status} ${code}`)),
        end: wireCase.closed ? 'closed' : 'kept',
      });
      const wanted = wantedOf(wireCase, marker);
      const seen = backEnd.requests.filter((request) => request.includes(marker)).map(describeRequest);
      expect(distinctReads(seen)).toEqual(wanted);
      expect(sent().split(`"path":"/wire/${marker}`)).toHaveLength(wanted.length + 1);
      for (const { status, headers, body } of played.raw.filter((found) => found.status >= 400)) {
        expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
        expect(headers['cache-control'], `of ${status}`).toBe('no-store');
        expect(body).not.toMatch(/node:|\bat .*\.[jt]s|</);
      }
    },
  );

  it('of a request that ends in the middle start no execution', async () => {
    const marker = randomUUID();
    const head = `POST /adaptor/777/wire/${marker} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`;
    for (const cut of [
      `${head}X-A: b`,
      `${head}Content-Length: 50\r\n\r\nhello`,
      `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    ]) {
      const connection = new RawConnection(stack.url);
      connection.socket.end(cut);
      await connection.end();
      connection.destroy();
    }
    expect((await demo('/movies/seven%20samurai')).status).toBe(200);
    expect(sent()).not.toContain(marker);
  });
});

describe('after all cases', () => {
  it('the back end has received exactly the expected requests, and nothing was smuggled', async () => {
    expect((await demo('/adaptor/777/wire/last')).text).toBe('ok');
    const expected = [...corpus].flatMap(([name, wireCase]) => wantedOf(wireCase, results.get(name)!.marker));
    expect(distinctReads(backEnd.requests.map(describeRequest)).toSorted()).toEqual(
      [...expected, 'GET /wire/last '].toSorted(),
    );
    expect(sent()).not.toMatch(/"path":"\/smuggled/);
  });

  it('the router still serves, and no request made it fail', async () => {
    expect((await demo('/movies/seven%20samurai')).status).toBe(200);
    const metrics = await (await fetch(`${stack.operationsUrl}/metrics`)).text();
    expect(metrics).not.toMatch(/status="500"/);
    expect(stack.router.output()).not.toContain('"level":"error"');
  });
});
