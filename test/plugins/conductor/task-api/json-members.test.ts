// Tests of reading and changing a member of JSON text: the right member, wherever it is and however it is written, and
// no other.

import { fc } from '../../../run/properties.ts';
import { expect, it } from 'vitest';
import { memberText, replaceMember, setMember } from '../../../../plugins/conductor/task-api/json-members.ts';

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

it.each([
  ['{"n":1.0}', '{"reason":"new","n":1.0}'],
  [' { "n":1.0}', '{"reason":"new", "n":1.0}'],
  ['{"n":1.0,"reason":null}', '{"n":1.0,"reason":"new"}'],
])('sets the reason: %s → %s', (json, changed) => {
  expect(setMember(json, 'reason', 'new')).toBe(changed);
});

it.each([
  ['{"outputData":{"n":1.0, "m":-0,"e":1e400}}', '{"n":1.0, "m":-0,"e":1e400}'],
  ['{"taskId":"}","outputData" : [1.10] , "n":2}', '[1.10]'],
  ['{"outputData":{"n":1},"outputData":{"n":2.0}}', '{"n":2.0}'],
  ['{"outputData":1.50,"n":true}', '1.50'],
  [' {"n":false,"outputData":null}', 'null'],
  ['{"a":{"outputData":1}}', undefined],
  ['{}', undefined],
])('the output in %s is %s', (json, text) => {
  expect(memberText(json, 'outputData')).toBe(text);
});

it('replaces a member of any object with the same result as parsing, changing and serialising the object', () => {
  const object = fc.dictionary(fc.constantFrom('taskId', 'a', '"', '\\', 'outputData'), fc.jsonValue());
  fc.assert(
    fc.property(object, fc.integer({ min: 0, max: 4 }), fc.string(), (members, spaces, value) => {
      const before = { ...members, taskId: 'old' };
      const after = JSON.stringify({ ...before, taskId: value }, null, spaces);
      expect(replaceMember(JSON.stringify(before, null, spaces), 'taskId', value)).toBe(after);
    }),
  );
});

it('returns the text of a member, which parses to the value of the member', () => {
  const object = fc.dictionary(fc.constantFrom('taskId', 'a', '"', '\\', 'outputData'), fc.jsonValue());
  fc.assert(
    fc.property(object, fc.integer({ min: 0, max: 4 }), (members, spaces) => {
      const text = memberText(JSON.stringify(members, null, spaces), 'outputData');
      const parsed: unknown = text === undefined ? undefined : JSON.parse(text);
      expect(parsed).toEqual(JSON.parse(JSON.stringify(members)).outputData);
    }),
  );
});
