// The movies prototype: looks a film up by its title.

import { type Request, Router } from 'express';
import { allowOnly, respondWith, BackEndError } from './json-response.ts';
import { parseRecord, type Store } from './store.ts';

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

/** What two spellings of one title have in common. */
export function titleKey(title: string): string {
  return title.normalize('NFC').toLowerCase();
}

/** To be mounted at `/movies`. */
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
