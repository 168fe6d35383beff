// Deactivates the event handlers of RabbitMQ queues where no broker is configured.

import type { Config } from '#lib/config/schema.ts';
import type { Definitions } from './load-definitions.ts';
import { isQueueEvent } from './queue-events.ts';

/**
 * Returns the definitions as this configuration registers them. Without `mdm.updateQueue`, queue handlers are registered as
 * inactive: an engine without a broker that finds an active queue handler stops processing all events, its own included.
 */
export function asConfigured<T extends Definitions>(definitions: T, config: Pick<Config, 'mdm.updateQueue'>): T {
  const eventHandlers = definitions.eventHandlers.map((file) =>
    isSwitchedOff(file.definition.event, config)
      ? { ...file, definition: { ...file.definition, active: false } }
      : file,
  );
  return { ...definitions, eventHandlers };
}

/** Returns true when this configuration deactivates the handlers of an event, whatever their files say. */
export function isSwitchedOff(event: unknown, config: Pick<Config, 'mdm.updateQueue'>): boolean {
  return !config['mdm.updateQueue'] && typeof event === 'string' && isQueueEvent(event);
}
