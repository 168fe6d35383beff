// Request and response classes with Express's prototypes, for `http.createServer`.

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** Classes of requests and responses, as options of `http.createServer`. */
export interface MessageClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/**
 * Creates message classes whose instances have Express's prototypes from the start. Express 4 otherwise replaces the
 * prototype of each message, which makes V8 discard the hidden class of the object.
 */
export function expressMessages(app: Express): MessageClasses {
  return {
    IncomingMessage: withPrototype(IncomingMessage, app.request),
    ServerResponse: withPrototype(ServerResponse, app.response),
  };
}

function withPrototype<T extends new (...given: never[]) => object>(base: T, prototype: object): T {
  function Message(...given: never[]): object {
    return Reflect.construct(base, given, Message) as object;
  }
  Message.prototype = prototype;
  return Message as unknown as T;
}
