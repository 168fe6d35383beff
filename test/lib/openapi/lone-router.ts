// A router whose responses must all be ones that its own document describes.

import { startLocalRouter } from '../../gateway/local-router.ts';
import { call, checkAnswersOf, type CallOptions, type RouterAnswer } from '../../stack/client.ts';

export interface LoneRouter {
  readonly url: string;
  /** @throws Error for a response that the document does not describe */
  ask(path: string, options?: CallOptions): Promise<RouterAnswer>;
  stop(): Promise<void>;
}

/** @param env more configuration */
export async function startLoneRouter(env: Record<string, string> = {}): Promise<LoneRouter> {
  const { url, stop } = await startLocalRouter(env);
  await checkAnswersOf(url);
  return { url, ask: (path, options) => call(`${url}${path}`, options), stop };
}
