// Which handlers an engine gets as active ones: those of the broker's queues only where a broker is configured.

import type { Config } from '#lib/config/schema.ts';
import type { Definitions } from './load-definitions.ts';
import { isQueueEvent } from './queue-events.ts';

/**
 * The definitions as this configuration wants them in the engine. A handler of a queue is registered in any case, and inactive without
 * `mdm.updateQueue`: an engine that has no broker and meets an active one listens to no event any more, its own included.
 */
export function asConfigured<T extends Definitions>(definitions: T, config: Pick<Config, 'mdm.updateQueue'>): T {
  const eventHandlers = definitions.eventHandlers.map((file) =>
    isSwitchedOff(file.definition.event, config)
      ? { ...file, definition: { ...file.definition, active: false } }
      : file,
  );
  return { ...definitions, eventHandlers };
}

/** True when this configuration keeps the handlers of an event inactive, whatever their files say. */
export function isSwitchedOff(event: unknown, config: Pick<Config, 'mdm.updateQueue'>): boolean {
  return !config['mdm.updateQueue'] && typeof event === 'string' && isQueueEvent(event);
}
