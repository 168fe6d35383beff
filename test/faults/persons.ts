// The persons that a run changes, and their final values at the colleges and in MDM.

import { randomBytes } from 'node:crypto';
import { call } from '../stack/client.ts';
import type { SeededRandom } from '../stack/seeded-random.ts';
import type { HistoryEvent } from './history.ts';

export interface Person {
  readonly mis: string;
  readonly id: string;
}

const of001 = (id: string): Person => ({ mis: '001', id });
/** Returns a random item of a list, which must not be empty. */
export const pick = <T>(random: SeededRandom, list: readonly T[]) => list[random.below(list.length)] as T;

/** Returns a new cccid: a personal value, which must not occur in any log. */
export const newCccid = () => `F${randomBytes(6).toString('hex').toUpperCase()}`;
/** Matches every value of {@link newCccid} in a string. */
export const cccidPattern = /\bF[\dA-F]{12}\b/;

/** Hands out persons, a different one to each PATCH in progress if possible. */
export class Persons {
  /** Persons that are changed by PATCH, so MDM is notified. The first four are registered at both colleges. */
  readonly patched: readonly Person[] = [
    ...['0318204', '0320991', '0322467', '0101866'],
    ...['0319375', '0318766', '0321180', '0322903'],
  ].map(of001);
  /** Persons that are changed by PUT, so MDM is not notified. */
  readonly replaced: readonly Person[] = ['0323551', '0324016'].map(of001);
  readonly #busy = new Set<Person>();

  /** Runs `work` with a person that has no other change in progress, or with any person if there is no such person. */
  async withOne<T>(random: SeededRandom, work: (person: Person) => Promise<T>): Promise<T> {
    const free = this.patched.filter((person) => !this.#busy.has(person));
    const person = pick(random, free.length === 0 ? this.patched : free);
    this.#busy.add(person);
    try {
      return await work(person);
    } finally {
      this.#busy.delete(person);
    }
  }
}

interface Link {
  readonly goldenId: string;
  readonly misCode: string;
  readonly sisPersonId: string;
}

export type Observation = Omit<Extract<HistoryEvent, { event: 'person' }>, 'at'>;

/** Passes the values of each person at the colleges and in MDM to `append`. */
export async function observePersons(
  backEndsUrl: string,
  persons: readonly Person[],
  append: (observation: Observation) => void,
): Promise<void> {
  const read = async <T>(path: string) => (await call(`${backEndsUrl}${path}`)).json<T>();
  const golden = await read<{ goldenId: string; cccid: string | null }[]>('/mdm/golden-records');
  const crosswalk = await read<Link[]>('/mdm/crosswalk');
  const cccidOf = async (mis: string, id: string) =>
    (await read<{ cccid: string }>(`/adaptors/${mis}/mock/colleges/${mis}/persons/${id}`)).cccid;
  for (const { mis, id } of persons) {
    const link = crosswalk.find(({ misCode, sisPersonId }) => misCode === mis && sisPersonId === id);
    const elsewhere = crosswalk.filter(({ goldenId, misCode }) => goldenId === link?.goldenId && misCode !== mis);
    const others: Record<string, string> = {};
    for (const { misCode, sisPersonId } of elsewhere) others[misCode] = await cccidOf(misCode, sisPersonId);
    const mdm = golden.find(({ goldenId }) => goldenId === link?.goldenId)?.cccid;
    append({ actor: 'observer', event: 'person', mis, id, cccid: await cccidOf(mis, id), mdm, others });
  }
}
