// Sends one case of the corpus and returns everything that was received on the connection.

import { ConnectionEnded, type RawAnswer, RawConnection } from './raw-client.ts';
import { toBytes, type WireCase } from './notation.ts';

export interface Played {
  /** `<status>` or `<status> <code>`, as in the expectations of the corpus. */
  answers: string[];
  end: 'closed' | 'kept';
  raw: RawAnswer[];
}

/** A request that needs no token and matches no route. */
const probe = 'GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/**
 * Plays a case. After the expected number of responses, a probe is sent on the same connection, unless the case expects
 * the router to close it. If the connection is kept, the probe gets 404. A response that the case does not expect
 * arrives before this 404.
 */
export async function playCase(
  url: string,
  wireCase: WireCase,
  values: Readonly<Record<string, string>>,
): Promise<Played> {
  const connection = new RawConnection(url);
  const played: Played = { answers: [], end: 'closed', raw: [] };
  try {
    connection.send(toBytes(wireCase.notation, values));
    while (played.raw.length < wireCase.answers.length) note(played, await connection.answer());
    if (!wireCase.closed) connection.send(probe);
    for (;;) note(played, await connection.answer());
  } catch (error) {
    if (!(error instanceof ConnectionEnded)) throw error;
  } finally {
    connection.destroy();
  }
  const last = played.raw.at(-1);
  if (!wireCase.closed && last?.status === 404 && played.raw.length > wireCase.answers.length) {
    played.raw.pop();
    played.answers.pop();
    played.end = 'kept';
  }
  return played;
}

function note(played: Played, answer: RawAnswer): void {
  played.raw.push(answer);
  const code = codeOf(answer);
  played.answers.push(code === undefined ? String(answer.status) : `${answer.status} ${code}`);
}

/** Returns the code of a problem document, or the `error` of RFC 6749. */
export function codeOf({ headers, body }: RawAnswer): string | undefined {
  if (!/json/.test(headers['content-type'] ?? '')) return undefined;
  const { type, error } = JSON.parse(body) as { type?: unknown; error?: unknown };
  if (typeof type === 'string') return type.replace('/problems/', '');
  return typeof error === 'string' ? error : undefined;
}
