// What must hold for the handlers of the broker's queues, besides what holds for every handler.

import { problemOfQueueCondition } from './condition.ts';
import type { ProducedEvent } from './events.ts';
import { type DefinitionFile, type Definitions, problemAt } from './load-definitions.ts';
import { collegeOf, isQueueEvent, problemOfQueueEvent, queueFields } from './queue-events.ts';
import type { EventHandler, WorkflowDefinition } from './schema.ts';

type HandlerFile = DefinitionFile<EventHandler>;

/** What MDM publishes, in the form of an event that a workflow produces. */
export function queueSource(handler: HandlerFile): ProducedEvent {
  return {
    source: handler as unknown as DefinitionFile<WorkflowDefinition>,
    path: ['event'],
    name: handler.definition.event,
    pattern: /^amqp_queue:[^?]*\.([0-9A-Za-z]+)\?/,
    payload: new Set(queueFields),
  };
}

/** Checks the handlers of the broker's queues, each and against each other. */
export function checkQueueHandlers({ eventHandlers }: Pick<Definitions, 'eventHandlers'>): string[] {
  const files = eventHandlers.filter(({ definition }) => isQueueEvent(definition.event));
  return [...files.flatMap(checkOne), ...checkPairs(files)];
}

function checkOne(file: HandlerFile): string[] {
  const { event, condition, actions } = file.definition;
  const badName = problemOfQueueEvent(event);
  if (badName !== undefined) return [problemAt(file, ['event'], badName)];
  if (condition === undefined) {
    return [problemAt(file, [], 'a queue needs a condition that throws for what is no update: it would be lost')];
  }
  const wrong = problemOfQueueCondition(condition, collegeOf(event) ?? '');
  const badCondition = wrong === undefined ? [] : [problemAt(file, ['condition'], wrong)];
  // The engine's record of a message counts its actions: a second one begins after the first, and can be lost on its own.
  return actions.length === 1 ? badCondition : [...badCondition, problemAt(file, ['actions'], 'must be one action')];
}

/**
 * The engine notes a message as handled before it starts anything. Killed in between, it takes the message for a duplicate when
 * the broker delivers it again. Two handlers have a note each, so that one of the two starts is made whatever happens.
 */
function checkPairs(files: readonly HandlerFile[]): string[] {
  const byEvent = Map.groupBy(files, ({ definition }) => definition.event);
  return [...byEvent.values()].flatMap((handlers) => {
    const [first] = handlers;
    if (first === undefined) return [];
    const started = new Set(handlers.map(({ definition }) => definition.actions[0]?.start_workflow.name));
    const conditions = new Set(handlers.map(({ definition }) => definition.condition));
    const lacking = ['mdm-shareWF', 'mdm-updateWF'].filter((name) => !started.has(name));
    return [
      ...lacking.map((name) => problemAt(first, ['event'], `another handler of this event has to start ${name}`)),
      ...(conditions.size > 1
        ? [problemAt(first, ['condition'], 'every handler of this event must have the same condition')]
        : []),
    ];
  });
}
