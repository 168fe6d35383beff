// Maps deprecated configuration keys to the keys that replaced them, and lists the keys that were removed.

import type { ConfigKey } from './schema.ts';
import type { MergedLayers } from './sources.ts';

/** The current key of each deprecated name. */
export const deprecatedKeys: Readonly<Record<string, ConfigKey>> = {
  'conductor.handOver': 'conductor.directDispatch',
  'conductor.maxParkedPollMs': 'conductor.maxHeldPollMs',
  'limits.refusalHoldMs': 'limits.rejectionDelayMs',
  'router.answerTimeoutMs': 'router.responseSendTimeoutMs',
  'router.mapFile': 'router.gatewayConfigFile',
  'router.maxAnswerBytes': 'router.maxResponseBytes',
  'router.waitBudgetMs': 'router.responseDeadlineMs',
};

/** Keys that no longer have an effect, each with its replacement. They are ignored, with a warning. */
export const removedKeys: Readonly<Record<string, string>> = {
  'admission.reservedPercent': "permits are shared fairly between a client's reads and writes",
  'mdm.updateQueue': 'the routers consume the queue at `mdm.updateQueueURL`',
};

/** Returns the current key of a name, which may be deprecated. */
export function currentKey(name: string): string {
  return deprecatedKeys[name] ?? name;
}

/** Values by current key. There is one warning or problem for each deprecated or removed name that is set. */
export interface RenamedLayers extends MergedLayers {
  /** Deprecated names in use, each with its current key, and removed keys that are set. */
  readonly warnings: readonly string[];
  /** Deprecated names whose value contradicts the value of the current key. */
  readonly problems: readonly string[];
}

/**
 * Moves the values of deprecated names to their current keys, and drops the values of removed keys. Messages contain no
 * values, because values may be secret.
 */
export function renameDeprecated({ values, origins }: MergedLayers): RenamedLayers {
  const isCurrent = ([name]: readonly [string, string]) =>
    !Object.hasOwn(deprecatedKeys, name) && !Object.hasOwn(removedKeys, name);
  const renamed = Object.fromEntries(Object.entries(values).filter(isCurrent));
  const renamedOrigins = Object.fromEntries(Object.entries(origins).filter(isCurrent));
  const warnings: string[] = [];
  const problems: string[] = [];
  for (const [name, key] of Object.entries(deprecatedKeys)) {
    const value = values[name];
    if (value === undefined) continue;
    const origin = origins[name];
    const other = values[key];
    if (other !== undefined && other.trim() !== value.trim()) {
      problems.push(
        `${origin}: ${name} is the deprecated name of ${key}, which has another value (${origins[key]}): remove ${name}`,
      );
      continue;
    }
    warnings.push(`${origin}: ${name} is deprecated: set ${key} instead`);
    if (other !== undefined) continue;
    renamed[key] = value;
    renamedOrigins[key] = `${origin} (as ${name})`;
  }
  for (const [name, replacement] of Object.entries(removedKeys)) {
    if (values[name] !== undefined)
      warnings.push(`${origins[name]}: ${name} no longer has an effect (${replacement}): remove it`);
  }
  return { values: renamed, origins: renamedOrigins, warnings, problems };
}
