// A router in its own process whose responses must all be described by its OpenAPI document.

import { checkAnswersOf, describeNothingOf } from './client.ts';
import { type Program, startProgram } from './program.ts';

/**
 * Starts a router. Until it ends, `call` of client.ts throws for every response from it that its OpenAPI document does
 * not describe.
 */
export async function startCheckedRouter(env: Record<string, string>): Promise<Program> {
  const router = await startProgram('gateway/main.ts', env);
  const url = String(router.ready['url']);
  // After the router has ended, the system may give its port to the server of another test.
  router.process.once('exit', () => describeNothingOf(url));
  await checkAnswersOf(url);
  return router;
}
