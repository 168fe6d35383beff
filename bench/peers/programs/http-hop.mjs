// One Express process in front of the back end: the cost of a response when nothing is stored.

import express from 'express';
import { fetchMovie, reportReady, serveHttp } from './program.mjs';

const app = express();
app.get('/movies/:title', (request, response, next) => {
  fetchMovie(request.params.title).then((movie) => response.json(movie), next);
});
reportReady({ url: await serveHttp(app) });
