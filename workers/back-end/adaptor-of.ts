// Which address a college's adaptor has.

import type { Config } from '#lib/config/schema.ts';
import { CodedFailure } from '../task-failure.ts';

/**
 * The base of the adaptor of a MIS code: its own, else the common one.
 * @throws CodedFailure `unknown-college` when there is neither
 */
export function adaptorOf(mis: string, config: Config): string {
  const base = /^[0-9A-Za-z]{1,8}$/.test(mis) ? (config[`adaptor.${mis}.url`] ?? config['adaptor.url']) : undefined;
  if (base === undefined) throw new CodedFailure('unknown-college', 'no adaptor is configured for this MIS code');
  return base;
}
