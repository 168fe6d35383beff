// Expands event handler templates, each of which is written once for all colleges.

import { adaptorDomains } from '#lib/config/adaptor-domains.ts';
import type { Config } from '#lib/config/schema.ts';
import type { DefinitionFile, Definitions } from './load-definitions.ts';
import type { EventHandler } from './schema.ts';

/** Placeholder for a college's MIS code in the strings of a template. */
export const misPlaceholder = '{mis}';
/** Placeholder for the task domain of a college's workers in the strings of a template. */
export const domainPlaceholder = '{domain}';

/** Returns whether an event handler is a template, which is registered once for each college. */
export function isTemplate({ name }: Pick<EventHandler, 'name'>): boolean {
  return name.includes(misPlaceholder);
}

/**
 * Returns the definitions to register for a configuration. Each template is replaced by one event handler for each
 * college whose workers have a task domain (`adaptor.<mis>.domain`). If a college has a file of its own, that file is
 * used instead of the template.
 */
export function forColleges<T extends Pick<Definitions, 'eventHandlers'>>(definitions: T, config: Config): T {
  const colleges = Object.entries(adaptorDomains(config));
  const own = new Set(definitions.eventHandlers.map(({ definition }) => definition.name));
  const expand = (file: DefinitionFile<EventHandler>) =>
    colleges
      .map(([mis, domain]) => ({ ...file, definition: fill(file.definition, { mis, domain }) }))
      .filter(({ definition }) => !own.has(definition.name));
  const eventHandlers = definitions.eventHandlers.flatMap((file) =>
    isTemplate(file.definition) ? expand(file) : [file],
  );
  return { ...definitions, eventHandlers };
}

/** Replaces the placeholders in all strings. `${mis}` is an expression of the engine, so it is kept. */
function fill(template: EventHandler, values: Readonly<Record<string, string>>): EventHandler {
  return JSON.parse(JSON.stringify(template), (_key, value: unknown) =>
    typeof value === 'string'
      ? value.replace(/(?<!\$)\{(mis|domain)\}/g, (_match, name: string) => values[name] ?? '')
      : value,
  ) as EventHandler;
}
