// Starts the back-end stand-ins: one HTTP server with a mount path for each back end, and one SQLite file.

import { createServer } from 'node:http';
import express, { type Express } from 'express';
import { createLog, type Logger } from '#lib/telemetry/logging/log.ts';
import { listenOnLoopback } from '../loopback-server.ts';
import { createCollegeAdaptor } from './college-adaptor.ts';
import { createDataWarehouse } from './data-warehouse.ts';
import { recordHistory } from './history.ts';
import { respondWithErrors, refuseUnknownPath } from './json-response.ts';
import { createMdm } from './mdm.ts';
import { createMovies } from './movies.ts';
import { seed } from './seed/seed.ts';
import { openStore, type Store } from './store.ts';

/** Options of the stand-ins. */
export interface BackEndsOptions {
  /** TCP port; 0 = any free one. */
  port: number;
  /** Address to bind to; default 127.0.0.1. */
  host?: string | undefined;
  /** State directory; the database is `<stateDir>/back-ends.sqlite`. */
  stateDir: string;
  /** File for the history of requests, writes and notifications (history.ts). Default: no history. */
  historyFile?: string | undefined;
  /** Default: silent. */
  log?: Logger | undefined;
}

/** The running stand-ins. */
export interface BackEnds {
  /** Base URL of the server; the back ends are mounted below it. */
  readonly url: string;
  /** Stops the server, cuts requests in flight and closes the database. */
  stop(): Promise<void>;
}

/** MIS codes of the colleges with an adaptor. */
const colleges = ['001', '002'];

/** Starts the stand-ins. @throws Error when the port is taken or the database is from another version */
export async function startBackEnds(options: BackEndsOptions): Promise<BackEnds> {
  const store = openStore(options.stateDir, seed);
  const server = createServer(createApp(store, { ...options, log: options.log ?? createLog('back-ends', 'silent') }));
  // Longer than the workers' keep-alive, so that workers never send a request on a connection that is being closed.
  server.keepAliveTimeout = 120_000;
  try {
    const listening = await listenOnLoopback(server, {
      port: options.port,
      host: options.host,
      variable: 'BACKENDS_PORT',
    });
    const stop = async () => {
      await listening.close();
      store.close();
    };
    return { url: listening.url, stop };
  } catch (error) {
    store.close();
    throw error;
  }
}

/** The mount paths match the default base URLs in `config/default.properties`. */
function createApp(store: Store, { log, historyFile }: { log: Logger; historyFile?: string | undefined }): Express {
  const app = express().disable('x-powered-by').enable('case sensitive routing');
  if (historyFile !== undefined) app.use(recordHistory(historyFile));
  app.use('/lms-dw', createDataWarehouse(store));
  for (const mis of colleges) app.use(`/adaptors/${mis}`, createCollegeAdaptor(store, mis));
  app.use('/movies', createMovies(store));
  app.use('/mdm', createMdm(store));
  app.use(refuseUnknownPath);
  app.use(respondWithErrors(log));
  return app;
}
