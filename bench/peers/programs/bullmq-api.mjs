// HTTP in front of BullMQ: adds a job and responds with its result when a worker has finished it.

import { Queue, QueueEvents } from 'bullmq';
import express from 'express';
import { reportReady, serveHttp } from './program.mjs';

const connection = { host: '127.0.0.1', port: Number(process.env.BENCH_REDIS_PORT) };
// BullMQ's guide, "Auto-removal of jobs": without limits every job stays in Redis.
const removeOnComplete = { age: 3_600, count: 1_000 };
const queue = new Queue('movies', { connection, defaultJobOptions: { removeOnComplete } });
const events = new QueueEvents('movies', { connection });
// Every waiting request listens for its job.
events.setMaxListeners(0);
await events.waitUntilReady();

const app = express();
app.get('/movies/:title', (request, response, next) => {
  queue
    .add('fetch', { title: request.params.title })
    .then((job) => job.waitUntilFinished(events, 60_000))
    .then((movie) => response.json(movie), next);
});
reportReady({ url: await serveHttp(app) });
