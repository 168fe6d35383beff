// The admission policy: nothing is started behind it that could not be finished in time.

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
/** What may become part of a back end's name. */
const codePattern = /^[0-9A-Za-z]{1,8}$/;

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
 * Creates the policy. It stands in front of `workflow`, and waits for the body first: one that comes byte by byte must
 * not hold a place. A refused request with an Idempotency-Key goes on with `context.refusal`, for `workflow` to look up
 * the response that its key has.
 */
export function createAdmissionPolicy(admission: Admission, backEnds: BackEnds, maxBodyBytes: number): Policy {
  return definePolicy(admissionDeclaration, {
    early: ({ backEndOf }) => ({
      isRefusing: () => admission.isRefusing,
      look({ request, context, params }) {
        if (isKeyed(request)) return 'unsure';
        admission.refuse({
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
        const claim = {
          backEnd: backEnds.get(backEndName(context.route, request.params, backEndOf)),
          requestClass: classOf(request),
          client: callerOf(request),
          gone: () => signalWhenGone(response),
        };
        const admitted = await admission.admit(claim).catch((refusal: unknown) => {
          if (!isKeyed(request) || !(refusal instanceof Problem)) throw refusal;
          return refusal;
        });
        if (admitted === null) return;
        if (admitted instanceof Problem) {
          context.refusal = admitted;
          return next();
        }
        context.onStarted = admitted.started;
        const finish = () => {
          // What goes on behind a 202 keeps its place: asking for one gains none.
          if (context.goesOn !== undefined) return void context.goesOn.then((ending) => admitted.end(ending));
          admitted.end({ problem: context.problem, clientGone: !response.writableFinished });
        };
        // A client that leaves during the start leaves an execution behind all the same.
        const end = () => (context.served === undefined ? finish() : void context.served.then(finish));
        if (response.destroyed) return finish();
        response.once('close', end);
        next();
      };
    },
  });
}

function classOf({ method = '' }: IncomingMessage): RequestClass {
  return readMethods.has(method) ? 'read' : 'write';
}

/** What it repeats may have been done already: its client must not be told that nothing was. */
function isKeyed(request: IncomingMessage): boolean {
  const hasKey = request.headers['idempotency-key'] !== undefined;
  return hasKey && classOf(request) === 'write' && contextOf(request).clientId !== undefined;
}

function backEndName(route: string, params: Readonly<Record<string, string>>, parameter: string | undefined): string {
  const code = parameter === undefined ? undefined : params[parameter];
  return code !== undefined && codePattern.test(code) ? `${route} ${code}` : route;
}
