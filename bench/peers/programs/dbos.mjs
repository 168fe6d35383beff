// DBOS in an Express process, integrated as the documentation of DBOS shows: for each request, one workflow with one
// step.

import { DBOS } from '@dbos-inc/dbos-sdk';
import express from 'express';
import { fetchMovie, reportReady, serveHttp } from './program.mjs';

const getMovie = DBOS.registerWorkflow((title) => DBOS.runStep(() => fetchMovie(title), { name: 'fetchMovie' }), {
  name: 'getMovie',
});
DBOS.setConfig({
  name: 'bench',
  applicationVersion: '1',
  systemDatabaseUrl: process.env.BENCH_DATABASE,
  logLevel: 'warn',
});
await DBOS.launch();

const app = express();
app.get('/movies/:title', (request, response, next) => {
  getMovie(request.params.title).then((movie) => response.json(movie), next);
});
reportReady({ url: await serveHttp(app) });
