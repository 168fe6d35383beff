// docs/configuration.md and lib/config/schema.ts name the same keys, with the same types and defaults.

import { expect, it } from 'vitest';
import { deprecatedKeys } from '#lib/config/deprecated-keys.ts';
import { misCodePattern } from '#lib/config/mis-code.ts';
import { configSchema } from '#lib/config/schema.ts';
import { readPage, rowsOf, sectionOf } from './pages.ts';

interface KeySchema {
  type?: string;
  format?: string;
  enum?: string[];
  description?: string;
  default?: unknown;
  secret?: boolean;
}

const units = { milliseconds: 'milliseconds', seconds: 'seconds', bytes: 'bytes', 'TCP port': 'TCP port' };

/** The type of a key as the page spells it. */
function typeOf(schema: KeySchema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'array') return 'list';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.type === 'integer') {
    const unit = Object.keys(units).find((name) => schema.description?.includes(`(${name}`));
    return unit ?? 'number';
  }
  const kinds: Record<string, string> = { 'http-url': 'URL', 'back-end-url': 'URL', 'redis-url': 'redis URL' };
  const kind = kinds[schema.format ?? ''] ?? 'text';
  return schema.secret === true ? `secret ${kind}` : kind;
}

function defaultOf({ default: value }: KeySchema): string {
  if (value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? 'empty' : value.join(',');
  return String(value);
}

/** `^adaptor\.[0-9A-Za-z]{1,8}\.url$` → `adaptor.<mis>.url` */
const nameOfPattern = (pattern: string) =>
  pattern
    .replace(/^\^|\$$/g, '')
    .replace(misCodePattern, '<mis>')
    .replace('[!-~]{1,256}', '<client>')
    .replace('[A-Za-z][\\w-]{0,63}', '<route>')
    .replaceAll('\\.', '.');

it('configuration.md: every key of the schema with its type and default, and no other', () => {
  const schemas: [string, KeySchema][] = [
    ...(Object.entries(configSchema.properties) as [string, KeySchema][]),
    ...Object.entries(configSchema.patternProperties).map(
      ([pattern, schema]) => [nameOfPattern(pattern), schema as KeySchema] as [string, KeySchema],
    ),
  ];
  const expected = schemas.map(([key, schema]) => [key, typeOf(schema), defaultOf(schema)].join(' | '));
  const documented = rowsOf(sectionOf(readPage('docs/configuration.md'), 'Keys')).map(([key, type, value]) =>
    [key, type, value].join(' | '),
  );
  expect(documented.toSorted()).toEqual(expected.toSorted());
});

it('configuration.md: every deprecated name with its current key, and no other', () => {
  const documented = rowsOf(sectionOf(readPage('docs/configuration.md'), 'Deprecated names'));
  expect(Object.fromEntries(documented)).toEqual(deprecatedKeys);
});
