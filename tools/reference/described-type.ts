// Formats JSON Schema types for the reference pages: type, unit, default and meaning of a configuration key or a
// parameter.

import { code } from './markdown.ts';

/** The members of a JSON Schema that the pages use. */
export interface DescribedType {
  readonly type?: string;
  readonly title?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly anyOf?: readonly DescribedType[];
  readonly items?: DescribedType;
  readonly properties?: Readonly<Record<string, DescribedType>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
  readonly secret?: boolean;
  readonly deprecated?: boolean;
  readonly examples?: readonly unknown[];
}

/**
 * Matches the unit at the end of a description, with or without a remark: `(milliseconds)`, `(TCP port; 0 = any free
 * one)`.
 */
const unitPattern =
  / \((milliseconds|seconds|days|bytes|percent|TCP port|attempts a minute|comma-separated)(?:; ([^)]*))?\)$/;

const kinds: Readonly<Record<string, string>> = {
  'http-url': 'URL',
  'back-end-url': 'URL',
  'redis-url': 'Redis URL',
  'amqp-url': 'AMQP URL',
};

/** Returns the type with its unit and range, such as `milliseconds` or `percent, 1 to 100`. */
export function typeOf(schema: DescribedType): string {
  if (schema.title !== undefined) return schema.title;
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined)
    return schema.enum
      .map(code)
      .join(' or ')
      .replaceAll(/ or (?=.* or )/g, ', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  const unit = unitPattern.exec(schema.description ?? '')?.[1];
  if (schema.type === 'integer' || schema.type === 'number') return (unit ?? 'number') + rangeOf(schema, unit);
  if (schema.type === 'array') return `${schema.secret === true ? 'secret ' : ''}list`;
  if (schema.type === 'object') return 'map';
  if (schema.type === 'boolean') return 'boolean';
  return `${schema.secret === true ? 'secret ' : ''}${kinds[schema.format ?? ''] ?? 'text'}`;
}

/**
 * Returns the range as text. The maximum is left out for a port, and when it is too large to matter. In these cases, a
 * minimum of 0 or 1 is left out too.
 */
function rangeOf({ minimum = 0, maximum = Infinity }: DescribedType, unit: string | undefined): string {
  if (unit === 'TCP port' || maximum >= 1_000_000_000) return minimum > 1 ? `, at least ${minimum}` : '';
  return `, ${minimum} to ${maximum}`;
}

/** Returns the default as code; a dash when there is none. */
export function defaultOf({ default: value }: DescribedType): string {
  if (value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? 'empty' : code(value.join(','));
  return code(String(value));
}

/** Returns the description without its unit, which is part of the type. */
export function meaningOf({ description = '' }: DescribedType): string {
  return description.replace(unitPattern, (_unit, _name, remark?: string) =>
    remark === undefined ? '' : `; ${remark}`,
  );
}
