// The admission policy: rejects or queues requests whose execution could not release in time.

import type { IncomingMessage } from 'node:http';
import { Type } from 'typebox';
import { callerOf } from '../../../gateway/plugin-api/client-address.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../../gateway/plugin-api/plugin-api.ts';
import { readBody } from '../../../gateway/plugin-api/read-body.ts';
import { signalWhenGone } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { Admission } from './admission.ts';
import type { BackEnds } from './back-ends.ts';
import type { RequestClass } from './bulkhead.ts';

const parameters = Type.Object(
  {
    backEndOf: Type.Optional(
      Type.String({
        description: 'path parameter that tells the back ends of this route apart; one back end when absent',
      }),
    ),
  },
  { additionalProperties: false },
);

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Path parameters that may become part of a back end's name. */
const codePattern = /^[0-9A-Za-z]{1,8}$/;

/** Name, parameters and OpenAPI description of the policy. */
export const admissionDeclaration = declarePolicy({
  name: 'admission',
  schema: parameters,
  describe: () => ({
    operation: () => ({
      problems: ['body-too-large', 'engine-unavailable', 'overloaded', 'back-end-unavailable', 'shutting-down'],
    }),
  }),
});

/**
 * Creates the policy. It runs before `workflow`. It reads the whole body first, so that a slow upload does not hold a
 * permit. A rejected request with an Idempotency-Key continues with `context.refusal`: `workflow` looks up the recorded
 * response for its key.
 */
export function createAdmissionPolicy(admission: Admission, backEnds: BackEnds, maxBodyBytes: number): Policy {
  return definePolicy(admissionDeclaration, {
    early: ({ backEndOf }) => ({
      isRefusing: () => admission.isShedding,
      check({ request, context, params }) {
        if (isKeyed(request)) return 'unsure';
        admission.shed({
          backEnd: backEnds.get(backEndName(context.route, params, backEndOf)),
          requestClass: classOf(request),
          client: callerOf(request),
        });
      },
    }),
    create({ backEndOf }) {
      return async function admit(request, response, next) {
        const context = contextOf(request);
        await readBody(request, maxBodyBytes);
        context.arrivedAt = performance.now();
        const subject = {
          backEnd: backEnds.get(backEndName(context.route, request.params, backEndOf)),
          requestClass: classOf(request),
          client: callerOf(request),
          gone: () => signalWhenGone(response),
        };
        const admitted = await admission.admit(subject).catch((rejection: unknown) => {
          if (!isKeyed(request) || !(rejection instanceof Problem)) throw rejection;
          return rejection;
        });
        if (admitted === null) return;
        if (admitted instanceof Problem) {
          context.refusal = admitted;
          return next();
        }
        context.onStarted = admitted.started;
        const release = () => {
          // An execution that continues behind a 202 keeps its permit: `Prefer: respond-async` gains no capacity.
          if (context.goesOn !== undefined) return void context.goesOn.then((ending) => admitted.end(ending));
          admitted.end({ problem: context.problem, clientGone: !response.writableFinished });
        };
        // The execution of a client that disconnects during the start exists nevertheless.
        const onClose = () => (context.served === undefined ? release() : void context.served.then(release));
        if (response.destroyed) return release();
        response.once('close', onClose);
        next();
      };
    },
  });
}

function classOf({ method = '' }: IncomingMessage): RequestClass {
  return readMethods.has(method) ? 'read' : 'write';
}

/**
 * True for a write with an Idempotency-Key of an authenticated client. An earlier request with the key may have been
 * carried out, so the response must not claim that nothing was started.
 */
function isKeyed(request: IncomingMessage): boolean {
  const hasKey = request.headers['idempotency-key'] !== undefined;
  return hasKey && classOf(request) === 'write' && contextOf(request).clientId !== undefined;
}

/** Route name, with the path parameter when it has the form of a code: `movies`, `adaptor 002`. */
function backEndName(route: string, params: Readonly<Record<string, string>>, parameter: string | undefined): string {
  const code = parameter === undefined ? undefined : params[parameter];
  return code !== undefined && codePattern.test(code) ? `${route} ${code}` : route;
}
