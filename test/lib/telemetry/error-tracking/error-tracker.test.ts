// Tests of the data that the ingest endpoint receives when an error is reported.

import { hostname, userInfo } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createErrorTracker } from '#lib/telemetry/error-tracking/error-tracker.ts';
import type { ErrorTracker } from '#lib/telemetry/error-tracking/tracker.ts';
import { type IngestEndpoint, startIngestEndpoint } from './ingest-endpoint.ts';

const options = { environment: 'test', program: 'workers', release: '1.2.3' };

interface ReportedEvent {
  tags: Record<string, string>;
  exception: {
    values: { type: string; value: string; stacktrace?: { frames: { filename: string; function?: string }[] } }[];
  };
}

describe('with a DSN', () => {
  let endpoint: IngestEndpoint;
  let tracker: ErrorTracker;
  beforeEach(async () => {
    endpoint = await startIngestEndpoint();
    tracker = await createErrorTracker({ ...options, dsn: endpoint.dsn });
  });
  afterEach(async () => {
    await tracker.close(1000);
    await endpoint.close();
  });

  const reportAndRead = async (error: unknown, fields: Record<string, string> = {}): Promise<ReportedEvent> => {
    tracker.report(error, fields);
    await tracker.close(2000);
    expect(endpoint.events()).toHaveLength(1);
    return endpoint.events()[0] as unknown as ReportedEvent;
  };

  test('an error has arrived exactly once by the time close resolves, even if it was reported twice', async () => {
    const error = new TypeError('the engine sent no tasks');
    tracker.report(error, { route: 'movies' });
    tracker.report(error, { route: 'movies' });
    await tracker.close(2000);
    expect(endpoint.envelopes()).toHaveLength(1);
    expect(endpoint.events()).toMatchObject([
      {
        level: 'error',
        environment: 'test',
        release: '1.2.3',
        tags: { route: 'movies', program: 'workers' },
        exception: { values: [{ type: 'TypeError', value: 'the engine sent no tasks' }] },
      },
    ]);
  });

  test('only tags with known names arrive', async () => {
    const executionId = '0d3f8b52-6a4e-4c1b-9d7e-2f5a1b3c4d5e';
    const fields = { executionId, taskType: 'college-adaptor_intake', status: '502', body: 'x', cccid: 'x', url: 'x' };
    const { tags } = await reportAndRead(new Error('x'), fields);
    expect(tags).toEqual({ executionId, taskType: 'college-adaptor_intake', status: '502', program: 'workers' });
  });

  test('stack frames contain file paths relative to the repository', async () => {
    const { exception } = await reportAndRead(new Error('x'));
    const frames = exception.values[0]?.stacktrace?.frames ?? [];
    // When coverage is measured, Node loads this file, and vitest adds a query to its URL.
    const filename = frames.at(-1)?.filename.replace(/\?vitest=\d+$/, '');
    expect(filename).toBe('test/lib/telemetry/error-tracking/error-tracker.test.ts');
    for (const { filename } of frames) expect(filename).not.toMatch(/^(?:file:|\/)/);
  });

  test('the chain of causes arrives, with each cause scrubbed', async () => {
    const cause = new Error('connect to http://dw.example/x?student=marker1 failed');
    const { exception } = await reportAndRead(new Error('no response', { cause }));
    const values = exception.values.map(({ value }) => value);
    expect(values).toEqual(expect.arrayContaining(['no response', expect.stringContaining('connect to')]));
    expect(values.join()).not.toContain('marker1');
  });

  test('the envelope contains no token, body or personal data, wherever the error contains them', async () => {
    const token = `eyJhbGciOiJSUzI1NiJ9.${Buffer.from('{"sub":"marker-sub"}').toString('base64url')}.c2ln-Marker9`;
    const body = '{"cccid":"ABK7021","lastName":"marker-name"}';
    const error = Object.assign(
      new Error(
        `POST https://user:marker-pass@mdm.example/persons/marker-person?cccid=marker-query got ${body} ` +
          `with Authorization: Bearer marker-bearer and ${token} for marker.person@college.example, ` +
          `client_secret=marker-secret, id 0318204, from 203.0.113.77`,
        { cause: new SyntaxError(`Unexpected token 'm', "marker-excerpt"... is not valid JSON`) },
      ),
      {
        config: { headers: { authorization: 'Bearer marker-header', cookie: 'marker-cookie' }, data: body },
        response: { data: body, headers: { 'set-cookie': 'marker-set-cookie' } },
        request: { path: '/marker-path' },
      },
    );
    error.name = 'AxiosError';
    await reportAndRead(error, {
      requestId: 'Bearer marker-tag',
      route: '/adaptor/001/persons/marker-route?x=marker-route-query',
      person: 'marker-field',
    });
    const sent = endpoint.envelopes().join('\n');
    expect(sent).toContain('AxiosError');
    expect(sent).not.toMatch(/marker|ABK7021|0318204|203\.0\.113\.77|eyJ/i);
  });

  test('the envelope contains nothing about the machine, the process or the user', async () => {
    const event = await reportAndRead(new Error('x'));
    expect(Object.keys(event).sort()).toEqual(
      [...['environment', 'event_id', 'exception', 'level', 'platform', 'release', 'sdk', 'tags', 'timestamp']].sort(),
    );
    const sent = endpoint.envelopes().join('\n');
    expect(sent).not.toContain(hostname());
    expect(sent).not.toContain(process.cwd());
    if (userInfo().username.length > 4) expect(sent).not.toContain(userInfo().username);
  });

  test.each([
    ['a string', 'went wrong'],
    ['undefined', undefined],
    ['a plain object', { lastName: 'marker' }],
    ['an error with a hostile name', Object.assign(new Error('x'), { name: 'marker <marker@person.example>' })],
  ])('%s, when thrown, is reported without its content', async (_title, thrown) => {
    await reportAndRead(thrown);
    expect(endpoint.envelopes().join()).not.toContain('marker');
  });

  test('a report after close is not sent, and does not throw', async () => {
    await tracker.close(1000);
    tracker.report(new Error('late'));
    await tracker.close(1000);
    expect(endpoint.envelopes()).toEqual([]);
  });
});

describe('failures', () => {
  test('an endpoint that never responds: close gives up after its timeout', async () => {
    const endpoint = await startIngestEndpoint('never');
    const tracker = await createErrorTracker({ ...options, dsn: endpoint.dsn });
    tracker.report(new Error('x'));
    // Without its timeout, close would not resolve within the time limit of this test.
    await tracker.close(100);
    await endpoint.close();
  });

  test('an endpoint that is unavailable or refuses reports: report and close do not throw', async () => {
    const down = await startIngestEndpoint();
    await down.close();
    const refusing = await startIngestEndpoint(500);
    for (const { dsn } of [down, refusing]) {
      const tracker = await createErrorTracker({ ...options, dsn });
      tracker.report(new Error('x'));
      await expect(tracker.close(1000)).resolves.toBeUndefined();
    }
    await refusing.close();
  });

  test.each(['http://marker.example/no-key', 'http://marker@sentry.example/no-project', 'marker', 'ftp://a@b/1'])(
    'the invalid DSN %s: an error that does not repeat it',
    async (dsn) => {
      await expect(createErrorTracker({ ...options, dsn })).rejects.toThrow(/^sentry\.dsn is not a valid DSN$/);
    },
  );
});
