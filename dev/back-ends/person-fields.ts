// What a caller may write into a person record: known fields are checked, unknown ones are kept as they are.

import type { Person } from './college-records.ts';
import { BackEndError } from './json-response.ts';
import { requireText } from './request-body.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A person with the given fields changed.
 * @throws BackEndError 422 when a known field has the wrong form, or the person's identity would change
 */
export function mergePerson(person: Person, fields: Fields): Person {
  checkFields(person, fields);
  return { ...person, ...fields };
}

/**
 * A new person, or the replacement of one; what is absent is empty.
 * @throws BackEndError 422
 */
export function createPerson(identity: Pick<Person, 'misCode' | 'sisPersonId'>, fields: Fields): Person {
  const empty = { emailAddresses: [], loginId: '', loginSuffix: '', cccid: null };
  const { cccid, ...others } = fields;
  const given = cccid === undefined || cccid === null ? others : fields;
  const names = { firstName: requireText(fields, 'firstName'), lastName: requireText(fields, 'lastName') };
  checkFields(identity, given);
  return { ...identity, ...names, ...empty, ...given };
}

function checkFields(identity: Pick<Person, 'misCode' | 'sisPersonId'>, fields: Fields): void {
  for (const name of ['misCode', 'sisPersonId'] as const) {
    if (name in fields && fields[name] !== identity[name]) refuse(`${name} cannot be changed`);
  }
  if ('cccid' in fields) requireText(fields, 'cccid');
  for (const name of ['firstName', 'lastName', 'loginId', 'loginSuffix']) {
    if (name in fields && typeof fields[name] !== 'string') refuse(`${name} must be a string`);
  }
  if ('emailAddresses' in fields && !areEmailAddresses(fields['emailAddresses'])) {
    refuse('emailAddresses must be a list of { type, emailAddress }');
  }
}

function areEmailAddresses(value: unknown): boolean {
  const isEmailAddress = (item: unknown) => {
    const { type, emailAddress } = (item ?? {}) as Fields;
    return typeof type === 'string' && typeof emailAddress === 'string';
  };
  return Array.isArray(value) && value.every(isEmailAddress);
}

function refuse(message: string): never {
  throw new BackEndError('422 invalid-field', message);
}
