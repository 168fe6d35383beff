// Tests that a patched cccid reaches MDM and the interested college without help from the adaptor or the client.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Caller, callerFor, type RouterAnswer } from '../stack/client.ts';
import type { EngineExecution } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { engineOfRun } from './engine-of-run.ts';

let stack: Stack;
let demo: Caller;
let ops: Caller;

beforeAll(async () => {
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    workers: { MDM_RETRYWINDOWSECONDS: '4', MDM_RETRYMAXDELAYSECONDS: '1' },
  });
  [demo, ops] = await Promise.all([callerFor(stack.url), callerFor(stack.url, 'ops')]);
  // The engine may take a minute to subscribe to the queue of a new handler. The set-up waits for that, so that no test
  // has to.
  const first = await patchPerson('0320991', newCccid());
  await untilExecution('mdmWF', executionOf(first), 'COMPLETED');
});
afterAll(() => stack?.stop());

/** Ids of the same person in the two colleges, according to MDM's crosswalk. */
const here = '0318204';
const there = 'B00417733';

const executionOf = (answer: RouterAnswer) => String(answer.headers['x-execution-id']);
const adaptor = () => `${stack.backEndsUrl}/adaptors`;

function patchPerson(sisPersonId: string, cccid: string): Promise<RouterAnswer> {
  return demo(`/adaptor/001/mock/colleges/001/persons/${sisPersonId}`, {
    method: 'PATCH',
    json: { cccid },
  });
}

async function executionsFor(name: string, source: string): Promise<EngineExecution[]> {
  const answer = await ops(`/conductor/api/workflow/${name}/correlated/${source}?includeClosed=true`);
  return answer.status === 200 ? answer.json<EngineExecution[]>() : [];
}

function untilExecution(name: string, source: string, status: string): Promise<EngineExecution> {
  return pollUntil(`${name} to be ${status} for ${source}`, async () =>
    (await executionsFor(name, source)).find((execution) => execution.status === status),
  );
}

async function personThere(sisPersonId = there): Promise<{ cccid: string }> {
  return (await call(`${adaptor()}/002/mock/colleges/002/persons/${sisPersonId}`)).json();
}

const logOf = async (source: string) =>
  (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${source}`)).json<Record<string, unknown>>();

describe('the round trip', () => {
  it('a PATCH returns the record, notifies MDM, and delivers the cccid to the other college', async () => {
    const cccid = newCccid();
    const answer = await patchPerson(here, cccid);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ misCode: '001', sisPersonId: here, cccid });

    const source = executionOf(answer);
    await untilExecution('mdmWF', source, 'COMPLETED');
    await untilExecution('mdm-shareWF', source, 'COMPLETED');
    expect(await personThere()).toMatchObject({ cccid });

    const log = JSON.stringify(await logOf(source));
    expect(log).toContain(here);
    expect(log).toContain(cccid);
    expect(log).toContain(String(answer.headers['x-request-id']));
  });

  it('does not loop: the share starts no execution', async () => {
    const answer = await patchPerson(here, newCccid());
    const source = executionOf(answer);
    await untilExecution('mdm-shareWF', source, 'COMPLETED');
    const shares = await executionsFor('mdm-shareWF', source);
    const notifications = await executionsFor('mdmWF', source);
    expect([shares.length, notifications.length]).toEqual([1, 1]);
    expect(await executionsFor('mdmWF', shares[0]?.workflowId ?? '')).toEqual([]);
  });

  it('expressions of the engine in a PATCH reach the record, the response and MDM as sent', async () => {
    const fields = {
      cccid: newCccid(),
      loginId: '${workflow.secrets.HOME}',
      loginSuffix: '${workflow.input.inbound.clientId}',
      nested: {
        '${workflow.secrets.HOME}': ['$${workflow.secrets.X}', '${${workflow.secrets.X}}', '${CPEWF_TASK_ID}'],
        unclosed: '${workflow.secrets.X',
        escaped: '$\\{workflow.secrets.X} \\${college-adaptor_intake.output.outbound} ${inbound}',
      },
    };
    // White space that JSON.stringify would not write shows that the original text arrives.
    const body = ` ${JSON.stringify(fields)}\n`;
    const query = 'note=${workflow.secrets.HOME}';
    const answer = await demo(`/adaptor/001/mock/colleges/001/persons/0319375?${query}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', 'user-agent': '${workflow.secrets.HOME}' },
      body,
    });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject(fields);
    expect((await call(`${adaptor()}/001/mock/colleges/001/persons/0319375`)).json()).toMatchObject(fields);

    const source = executionOf(answer);
    await untilExecution('mdmWF', source, 'COMPLETED');
    const [notification] = (await logOf(source)) as unknown as Record<string, unknown>[];
    expect(notification).toMatchObject({
      cccid: fields.cccid,
      request: { httpMethod: 'PATCH', path: '/mock/colleges/001/persons/0319375', query, body },
    });
  });

  it('a change to a person whom no other college knows: MDM is notified, and nothing is shared', async () => {
    const answer = await patchPerson('0319375', newCccid());
    await untilExecution('mdmWF', executionOf(answer), 'COMPLETED');
    expect(await executionsFor('mdm-shareWF', executionOf(answer))).toEqual([]);
  });
});

describe('requests that notify MDM and requests that do not', () => {
  const statusOf = (method: string, status: number) =>
    demo(`/adaptor/001/mock/faults/status/${status}`, {
      method,
      ...(method === 'GET'
        ? {}
        : {
            body: JSON.stringify({ sisPersonId: here, cccid: 'ABC1234' }),
            headers: { 'content-type': 'application/json' },
          }),
    });

  it.each([200, 204, 299])('a PATCH with status %i notifies MDM', async (status) => {
    const source = executionOf(await statusOf('PATCH', status));
    await pollUntil('mdmWF to start', async () => (await executionsFor('mdmWF', source)).length === 1);
  });

  it('a PATCH with status 300, 404, 409 or 500, a POST and a GET do not notify MDM', async () => {
    const quiet = await Promise.all([
      ...[300, 404, 409, 500].map((status) => statusOf('PATCH', status)),
      statusOf('POST', 200),
      statusOf('GET', 200),
    ]);
    // When a later event has started mdmWF, the earlier events have been handled.
    const loud = executionOf(await statusOf('PATCH', 200));
    await pollUntil('mdmWF of a later PATCH', async () => (await executionsFor('mdmWF', loud)).length === 1);
    for (const answer of quiet) expect(await executionsFor('mdmWF', executionOf(answer))).toEqual([]);
  });

  it('version 1, selected in the configuration, does not start mdmWF', async () => {
    await stack.router.stop();
    await stack.restartRouter({ ADAPTOR_WORKFLOWVERSION: '1' });
    const quiet = await patchPerson(here, newCccid());
    expect(quiet.status).toBe(200);
    await stack.router.stop();
    await stack.restartRouter();
    const loud = await patchPerson(here, newCccid());
    await untilExecution('mdmWF', executionOf(loud), 'COMPLETED');
    expect(await executionsFor('mdmWF', executionOf(quiet))).toEqual([]);
  });
});

describe('MDM is unavailable', () => {
  const setAvailable = (available: boolean) =>
    call(`${stack.backEndsUrl}/mdm/availability`, {
      method: 'PUT',
      json: { available },
    });

  it('for a while: the client does not notice, and the notification is delivered afterwards', async () => {
    await setAvailable(false);
    const cccid = newCccid();
    const answer = await patchPerson(here, cccid);
    expect(answer.status).toBe(200);
    const source = executionOf(answer);
    await pollUntil('mdmWF to start', async () => (await executionsFor('mdmWF', source))[0]?.status === 'RUNNING');
    await setAvailable(true);
    await untilExecution('mdm-shareWF', source, 'COMPLETED');
    expect(await personThere()).toMatchObject({ cccid });
  });

  it('for longer than the retry window: the execution is shown as failed, with the reason', async () => {
    await setAvailable(false);
    try {
      const source = executionOf(await patchPerson(here, newCccid()));
      const failed = await untilExecution('mdmWF', source, 'FAILED');
      expect(failed.reasonForIncompletion).toMatch(/MDM/i);
    } finally {
      await setAvailable(true);
    }
  });
});
