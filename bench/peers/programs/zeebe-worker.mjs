// The job worker of Zeebe: jobs are pushed on a stream, which Zeebe's documentation recommends for low latency.

import { fileURLToPath } from 'node:url';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { fetchMovie, reportReady } from './program.mjs';

const file = fileURLToPath(new URL('zeebe.proto', import.meta.url));
// A job's key needs 64 bits.
const { gateway_protocol: protocol } = loadPackageDefinition(loadSync(file, { keepCase: true, longs: String }));
const gateway = new protocol.Gateway(process.env.BENCH_GATEWAY, credentials.createInsecure());

const jobs = gateway.StreamActivatedJobs({ type: 'movies', worker: 'bench', timeout: 60_000 });
jobs.on('data', ({ key, variables }) => {
  fetchMovie(JSON.parse(variables).title).then((movie) => complete(key, movie), logError);
});
jobs.on('error', (error) => {
  logError(error);
  process.exit(1);
});

function complete(jobKey, movie) {
  gateway.CompleteJob({ jobKey, variables: JSON.stringify({ movie }) }, (error) => {
    if (error) logError(error);
  });
}

function logError(error) {
  console.error(error);
}

reportReady({});
