// A stand-in for the movies prototype: finds a film by its title.

import { type Request, Router } from 'express';
import { allowOnly, respondWith, BackEndError } from './json-response.ts';
import { parseRecord, type Store } from './store.ts';

/** A film. */
export interface Movie {
  readonly title: string;
  readonly year: number;
  readonly director: string;
  readonly cast: readonly string[];
  readonly genres: readonly string[];
  readonly runtimeMinutes: number;
  readonly country: string;
  readonly plot: string;
}

/** Returns the lookup key of a title, independent of case and Unicode normalisation. */
export function titleKey(title: string): string {
  return title.normalize('NFC').toLowerCase();
}

/** Returns the router of the movies, to be mounted at `/movies`. */
export function createMovies(store: Store): Router {
  const router = Router({ caseSensitive: true });
  const list = () => {
    const rows = store.all('SELECT record FROM movies ORDER BY title_key');
    return { status: 200, body: rows.map((row) => parseRecord<Movie>(row).title) };
  };
  const get = ({ params }: Request) => {
    const row = store.get('SELECT record FROM movies WHERE title_key = ?', titleKey(String(params['title'])));
    if (row === undefined) throw new BackEndError('404 unknown-movie', 'no movie has this title');
    return { status: 200, body: parseRecord<Movie>(row) };
  };
  router.route('/').get(respondWith(list)).all(allowOnly('GET, HEAD'));
  router.route('/:title').get(respondWith(get)).all(allowOnly('GET, HEAD'));
  return router;
}
