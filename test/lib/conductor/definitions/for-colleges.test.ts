// Tests of event handler templates: which handlers are registered for each college.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct, definitionsFor } from './copy-of-product.ts';

let copy: CopyOfProduct;
beforeEach(() => {
  copy = copyOfProduct();
});
afterEach(() => copy.dispose());

const handlersFor = (...colleges: string[]) => definitionsFor(colleges, copy.dir).eventHandlers;
const template = 'event-handlers/mdm-share-{mis}.json';

describe('a template', () => {
  it('becomes one handler for each college with a domain; handlers that are not templates stay as they are', () => {
    const handlers = handlersFor('002', '003');
    expect(handlers.map(({ file, definition }) => [file, definition.name])).toEqual([
      [template, 'mdm-share-002'],
      [template, 'mdm-share-003'],
      ['event-handlers/mdm.json', 'mdm'],
    ]);
    expect(handlers[1]?.definition).toMatchObject({
      event: 'conductor:mdmWF:mdm_share_003',
      actions: [{ start_workflow: { taskToDomain: { mdm_share: '003' }, input: { misCode: '${misCode}' } } }],
    });
  });

  it('becomes no handler when no college has a domain', () => {
    expect(handlersFor().map(({ definition }) => definition.name)).toEqual(['mdm']);
  });

  it('is not used for a college that has its own file', () => {
    copy.write(
      'event-handlers/mdm-share-002.json',
      '{"name":"mdm-share-002","event":"conductor:a:b","active":false,"actions":[]}',
    );
    copy.set('event-handlers/mdm-share-002.json', ['actions'], [{ action: 'start_workflow', start_workflow: start }]);
    expect(handlersFor('002', '003').map(({ file, definition }) => [file, definition.name])).toEqual([
      ['event-handlers/mdm-share-002.json', 'mdm-share-002'],
      [template, 'mdm-share-003'],
      ['event-handlers/mdm.json', 'mdm'],
    ]);
  });

  it('leaves engine expressions unchanged: ${mis} is not a placeholder of the template', () => {
    copy.replace(template, '${requestId}', '${mis}');
    const [handler] = handlersFor('002');
    expect(handler?.definition.actions[0]?.start_workflow.input['requestId']).toBe('${mis}');
  });
});

const start = { name: 'mdm-shareWF', version: 1, correlationId: 'x', taskToDomain: {}, input: {} };
