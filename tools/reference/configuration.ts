// Generates the tables of configuration keys from the schema: one table for each group of keys.

import { backEndNamePattern } from '#lib/config/back-end-name.ts';
import { deprecatedKeys, removedKeys } from '#lib/config/deprecated-keys.ts';
import { misCodePattern } from '#lib/config/mis-code.ts';
import { configSchema } from '#lib/config/schema.ts';
import { defaultOf, type DescribedType, meaningOf, typeOf } from './described-type.ts';
import { code, table } from './markdown.ts';

/** Names of the generated parts, each with the first segments of its keys. */
const groups: Readonly<Record<string, readonly string[]>> = {
  'router keys': ['router'],
  'operations keys': ['ops', 'reload', 'log'],
  'engine keys': ['conductor'],
  'admission keys': ['admission', 'breaker'],
  'token keys': ['oauth'],
  'client keys': ['client', 'limits'],
  'back-end keys': ['adaptor', 'backEnd', 'lmsDW', 'movies'],
  'MDM keys': ['mdm', 'reconciler'],
  'worker keys': ['workers'],
  'encryption keys': ['payload'],
  'Redis keys': ['redis', 'records'],
  'prune keys': ['prune'],
  'report keys': ['sentry', 'otel'],
  'layer keys': ['config', 'profile', 'production'],
  'embedded stack keys': ['state', 'idp', 'backends'],
};

/** Returns the generated parts of the page by name. @throws Error for a key that is in no group */
export function formatConfiguration(): Record<string, string> {
  const keys = Object.entries({
    ...configSchema.properties,
    ...Object.fromEntries(
      Object.entries(configSchema.patternProperties).map(([pattern, type]) => [nameOfPattern(pattern), type]),
    ),
  }).map(([key, type]) => ({ key, type: type as DescribedType, segment: key.split('.')[0] as string }));
  const grouped = Object.values(groups).flat();
  const left = keys.filter(({ segment }) => !grouped.includes(segment)).map(({ key }) => key);
  if (left.length > 0) throw new Error(`tools/reference/configuration.ts has no group for ${left.join(', ')}`);
  const tables = Object.entries(groups).map(([name, segments]) => {
    const rows = keys.filter(({ segment }) => segments.includes(segment)).map(formatRow);
    return [name, table(['key', 'type', 'default', 'meaning'], rows)];
  });
  return {
    ...(Object.fromEntries(tables) as Record<string, string>),
    'deprecated keys': table(
      ['deprecated name', 'key'],
      Object.entries(deprecatedKeys).map(([name, key]) => [code(name), code(key)]),
    ),
    'removed keys': table(
      ['removed key', 'reason'],
      Object.entries(removedKeys).map(([name, reason]) => [code(name), reason]),
    ),
  };
}

function formatRow({ key, type }: { key: string; type: DescribedType }): string[] {
  return [code(key), typeOf(type), defaultOf(type), meaningOf(type)];
}

/** `^adaptor\.[0-9A-Za-z]{1,8}\.url$` → `adaptor.<mis>.url` */
function nameOfPattern(pattern: string): string {
  return pattern
    .replace(/^\^|\$$/g, '')
    .replace(misCodePattern, '<mis>')
    .replace(backEndNamePattern, '<name>')
    .replace('[!-~]{1,256}', '<client>')
    .replace('[A-Za-z][\\w-]{0,63}', '<route>')
    .replaceAll('\\.', '.');
}
