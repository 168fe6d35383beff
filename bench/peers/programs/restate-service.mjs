// A Restate service: a handler with one durable step. The Restate server calls it over HTTP/2.

import { createServer } from 'node:http2';
import { endpoint, service } from '@restatedev/restate-sdk';
import { fetchMovie, reportReady } from './program.mjs';

const movies = service({
  name: 'movies',
  handlers: { get: (context, { title }) => context.run('fetchMovie', () => fetchMovie(title)) },
});
const server = createServer(endpoint().bind(movies).http2Handler());
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
reportReady({ url: `http://127.0.0.1:${server.address().port}` });
