// Tests of MDM's messages: which ones are updates, and which share each update starts.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readUpdate } from '../../../jobs/mdm-updates/read-update.ts';
import { shareOf, startShare } from '../../../jobs/mdm-updates/share-update.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { definitionsFor, productDir } from '../../lib/conductor/definitions/copy-of-product.ts';
import { startFakeEngine } from './fake-engine.ts';

const schema = JSON.parse(readFileSync(join(productDir, 'lib/openapi/mdm-update.schema.json'), 'utf8')) as {
  examples: [{ misCode: string; sisPersonId: string; cccid: string; updateId: string }];
};
const [update] = schema.examples;

describe('a message', () => {
  it('is read from an object, a string or bytes, without fields that an update does not have', () => {
    for (const body of [update, JSON.stringify(update), Buffer.from(JSON.stringify(update))]) {
      expect(readUpdate(body)).toEqual(update);
    }
    expect(readUpdate({ ...update, comment: '${workflow.secrets.x}' })).toEqual(update);
  });

  it.each([
    [undefined, 'not a JSON object'],
    ['<update/>', 'not a JSON object'],
    [[update], 'not a JSON object'],
    [{}, 'misCode is missing, sisPersonId is missing, cccid is missing, updateId is missing'],
    [{ ...update, cccid: undefined }, 'cccid is missing'],
    [{ ...update, sisPersonId: 17 }, 'sisPersonId must be a string'],
    [{ ...update, cccid: '${workflow.input.x}' }, 'cccid must match pattern "^[0-9A-Za-z]{1,32}$"'],
    [
      { ...update, misCode: '002\n', updateId: '' },
      'misCode must match pattern "^[0-9A-Za-z]{1,8}$", updateId must match pattern "^[0-9A-Za-z-]{1,64}$"',
    ],
  ])('%j is not an update: %s', (body, wrong) => {
    expect(readUpdate(body)).toEqual({ wrong });
  });
});

describe('the share of an update', () => {
  const definitions = new MdmDefinitions(definitionsFor());
  const { misCode, sisPersonId, cccid, updateId } = update;
  const share = {
    ...{ name: 'mdm-shareWF', version: 1, correlationId: updateId, taskToDomain: { mdm_share: '002' } },
    input: { misCode, sisPersonId, cccid, requestId: updateId, sourceExecutionId: updateId },
  };

  it('is the share that the event handler of its college starts', () => {
    expect(shareOf(update, definitions)).toEqual(share);
  });

  it('comes from the version of mdmWF that the event handlers start', () => {
    const product = definitionsFor();
    const workflows = product.workflows.map((file) =>
      file.definition.name === 'mdmWF' ? { ...file, definition: { ...file.definition, version: 4 } } : file,
    );
    const eventHandlers = product.eventHandlers.map((file) => {
      const actions = file.definition.actions.map(({ action, start_workflow: start }) => ({
        action,
        start_workflow: start.name === 'mdmWF' ? { ...start, version: 4 } : start,
      }));
      return { ...file, definition: { ...file.definition, actions } };
    });
    expect(shareOf(update, new MdmDefinitions({ ...product, workflows, eventHandlers }))).toEqual(share);
  });

  it('is the same when another handler starts another workflow for the same event', () => {
    const product = definitionsFor();
    const others = product.eventHandlers.map((file) => {
      const actions = file.definition.actions.map(({ action, start_workflow: start }) => ({
        action,
        start_workflow: { ...start, name: 'auditWF' },
      }));
      return { ...file, definition: { ...file.definition, name: `zz-${file.definition.name}`, actions } };
    });
    const eventHandlers = [...product.eventHandlers, ...others];
    expect(shareOf(update, new MdmDefinitions({ ...product, eventHandlers }))).toEqual(share);
  });

  it('ignores the condition of the handler, because there is no mdmWF event to evaluate it for', () => {
    const product = definitionsFor();
    const eventHandlers = product.eventHandlers.map((file) => ({
      ...file,
      definition: { ...file.definition, condition: '$.workflowInstanceId != null' },
    }));
    expect(shareOf(update, new MdmDefinitions({ ...product, eventHandlers }))).toEqual(share);
  });

  it('is undefined for a college without a handler', () => {
    expect(shareOf({ ...update, misCode: '999' }, definitions)).toBeUndefined();
  });

  /** Starts the share on an engine whose index has the executions `found`. Returns the methods of the calls. */
  async function callsWith(found: object[], isRepeat: boolean): Promise<(string | undefined)[]> {
    const calls: (string | undefined)[] = [];
    const dependencies = await startFakeEngine((request, response) => {
      calls.push(request.method);
      response.end(request.method === 'GET' ? JSON.stringify(found) : 'id-of-the-share');
    });
    await startShare(share, dependencies, isRepeat);
    return calls;
  }
  const tasks = [{}];

  it('is started without a search when the message is new', async () => {
    expect(await callsWith([{ input: share.input, tasks }], false)).toEqual(['POST']);
  });

  it('is not started again when the engine already has it', async () => {
    expect(await callsWith([{ input: { ...share.input, more: 1 }, tasks }], true)).toEqual(['GET']);
  });

  it('is started when the engine has only a different share, or a share that never got a task', async () => {
    const other = { input: { ...share.input, cccid: 'other' }, tasks };
    expect(await callsWith([other, { input: share.input, tasks: [] }], true)).toEqual(['GET', 'POST']);
  });
});
