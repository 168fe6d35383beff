// The worker of BullMQ: each job is one call to the back end.

import { Worker } from 'bullmq';
import { fetchMovie, reportReady } from './program.mjs';

const worker = new Worker('movies', (job) => fetchMovie(job.data.title), {
  // BullMQ's guide, "Going to production": workers retry for ever.
  connection: { host: '127.0.0.1', port: Number(process.env.BENCH_REDIS_PORT), maxRetriesPerRequest: null },
  // BullMQ's guide, "Parallelism and Concurrency": 100 to 300 for jobs that wait for I/O.
  concurrency: 128,
});
worker.on('error', (error) => console.error(error));
await worker.waitUntilReady();
reportReady({});
