// The one member that is meant, wherever it stands and however it is written; nothing else.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { replaceMember } from '../../../plugins/conductor/replace-member.ts';

it.each([
  ['{"taskId":"old","n":1}', '{"taskId":"new","n":1}'],
  ['{"a":{"taskId":"old"},"taskId":"old"}', '{"a":{"taskId":"old"},"taskId":"new"}'],
  [
    '{"a":["taskId","old",{"taskId":"old"}], "taskId" : "old" }',
    '{"a":["taskId","old",{"taskId":"old"}], "taskId" : "new" }',
  ],
  [
    '{"a":"taskId","b":"\\"taskId\\":\\"old\\"","taskId":"old"}',
    '{"a":"taskId","b":"\\"taskId\\":\\"old\\"","taskId":"new"}',
  ],
  ['{"a":"\\\\","taskId":"old"}', '{"a":"\\\\","taskId":"new"}'],
  ['{"task\\u0049d":"o\\u006cd"}', '{"task\\u0049d":"new"}'],
  ['{"taskId":"one","taskId":"two"}', '{"taskId":"new","taskId":"new"}'],
  ['{"n":12345678901234567890,"m":1.0e+2,"taskId":"old"}', '{"n":12345678901234567890,"m":1.0e+2,"taskId":"new"}'],
  ['{"taskid":"old"}', '{"taskid":"old"}'],
  ['{}', '{}'],
])('%s → %s', (json, changed) => {
  expect(replaceMember(json, 'taskId', 'new')).toBe(changed);
});

it('of any object: as if it had been parsed, changed and written', () => {
  const object = fc.dictionary(fc.constantFrom('taskId', 'a', '"', '\\', 'outputData'), fc.jsonValue());
  fc.assert(
    fc.property(object, fc.integer({ min: 0, max: 4 }), fc.string(), (members, spaces, value) => {
      const before = { ...members, taskId: 'old' };
      const after = JSON.stringify({ ...before, taskId: value }, null, spaces);
      expect(replaceMember(JSON.stringify(before, null, spaces), 'taskId', value)).toBe(after);
    }),
  );
});
