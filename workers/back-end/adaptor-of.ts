// Looks up the base URL of a college's adaptor.

import { isMisCode } from '#lib/config/mis-code.ts';
import type { Config } from '#lib/config/schema.ts';
import { CodedFailure } from '../task-failure.ts';

/**
 * Returns the base URL of the adaptor for an MIS code: `adaptor.<mis>.url`, else `adaptor.url`.
 * @throws CodedFailure `unknown-college` when neither is set
 */
export function adaptorOf(mis: string, config: Config): string {
  const base = isMisCode(mis) ? (config[`adaptor.${mis}.url`] ?? config['adaptor.url']) : undefined;
  if (base === undefined) throw new CodedFailure('unknown-college', 'no adaptor is configured for this MIS code');
  return base;
}
