// Tests of the fields that are read from event records, and of errors when the engine's database cannot be used.

import { describe, expect, it } from 'vitest';
import { DatabaseUrlError, openEngineDatabase } from '#lib/conductor/database/engine-database.ts';
import { readEventRecord } from '#lib/conductor/database/event-record.ts';

const stored = (fields: object) =>
  JSON.stringify({
    id: 'm-1_0',
    messageId: 'm-1',
    name: 'mdm',
    event: 'conductor:a:b',
    created: 1_700_000_000_000,
    ...fields,
  });
const base = {
  recordId: 'm-1_0',
  messageId: 'm-1',
  handler: 'mdm',
  event: 'conductor:a:b',
  at: '2023-11-14T22:13:20.000Z',
};

describe('a record of an event', () => {
  it('that started an execution: returns the id of the execution', () => {
    expect(readEventRecord(stored({ status: 'COMPLETED', output: { workflowId: 'w-1' } }))).toEqual({
      ...base,
      state: 'COMPLETED',
      started: 'w-1',
    });
  });

  it('that was skipped: returns the condition, and only the source, method and status of the payload', () => {
    const msg = JSON.stringify({
      workflowInstanceId: 's-1',
      inbound: { httpMethod: 'PATCH', path: '/persons/1', body: 'a person' },
      outbound: { statusCodeValue: 404, body: 'another' },
    });
    const record = readEventRecord(stored({ status: 'SKIPPED', output: { msg, condition: '$.x' } }));
    expect(record).toEqual({
      ...base,
      state: 'SKIPPED',
      condition: '$.x',
      source: 's-1',
      method: 'PATCH',
      responseStatus: 404,
    });
  });

  it('whose payload is missing or not JSON: returned without it', () => {
    expect(readEventRecord(stored({ status: 'SKIPPED', output: { msg: '{' } }))).toEqual({ ...base, state: 'SKIPPED' });
    expect(readEventRecord(stored({ status: 'IN_PROGRESS' }))).toEqual({ ...base, state: 'IN_PROGRESS' });
  });
});

describe('the engine database', () => {
  it('a URL with an unknown scheme: refused; a SQLite file that does not exist: refused, and not created', async () => {
    await expect(openEngineDatabase('mysql://x/y')).rejects.toThrow(DatabaseUrlError);
    await expect(openEngineDatabase('sqlite:/nowhere/engine.db')).rejects.toThrow(
      'there is no SQLite file /nowhere/engine.db',
    );
  });

  it('an unavailable server: the error names the database, without the password', async () => {
    const database = await openEngineDatabase('postgresql://conductor:geheim@127.0.0.1:1/conductor');
    const error = await database.countEvents(0).catch((reason: Error) => reason);
    expect(String(error)).toMatch(/^Error: the engine's database \(PostgreSQL\): .*ECONNREFUSED/);
    expect(String(error)).not.toContain('geheim');
    await database.close();
  });
});
