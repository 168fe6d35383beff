// Requests and responses that are Express's own from the start.

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** Options of `http.createServer`. */
export interface MessageClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/**
 * Express 4 gives each message another prototype when it arrives, and V8 forgets what it knew of its shape. A message
 * that is born with that prototype keeps it.
 */
export function expressMessages(app: Express): MessageClasses {
  return {
    IncomingMessage: bornAs(IncomingMessage, app.request),
    ServerResponse: bornAs(ServerResponse, app.response),
  };
}

function bornAs<T extends new (...given: never[]) => object>(base: T, prototype: object): T {
  function Message(...given: never[]): object {
    return Reflect.construct(base, given, Message) as object;
  }
  Message.prototype = prototype;
  return Message as unknown as T;
}
