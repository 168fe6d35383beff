// `service-router/worker`: exports the API for the workers of a gateway.

export { createIntake, type SelectBaseUrl } from './intake.ts';
export type { WorkerRegistration, WorkerRegistry } from './index.ts';
export { createResponder, type Respond } from './responder.ts';
export { CodedFailure, TaskFailure } from './task-failure.ts';
export type { TaskOutcome, Worker, WorkerDependencies } from './worker.ts';
export type { BackEndRequest, BackEndResponse, CallBackEnd } from './back-end/call-back-end.ts';
export type { Task } from '#lib/conductor/types.ts';
export type { Config } from '#lib/config/schema.ts';
export type { FailureCode } from '#lib/envelope/failure.ts';
export type { ReceivedInbound } from '#lib/envelope/inbound.ts';
