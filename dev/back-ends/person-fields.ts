// Validates the fields of a person record. Unknown fields are stored unchanged.

import type { Person } from './college-records.ts';
import { BackEndError } from './json-response.ts';
import { requireText } from './request-body.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the person with the given fields changed.
 * @throws BackEndError 422 when a known field has the wrong form, or the person's identity would change
 */
export function mergePerson(person: Person, fields: Fields): Person {
  checkFields(person, fields);
  return { ...person, ...fields };
}

/**
 * Returns a new person. Absent optional fields get empty values.
 * @throws BackEndError 422 when a required field is missing or a field has the wrong form
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
