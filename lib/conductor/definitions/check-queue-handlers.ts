// Additional checks for the event handlers of RabbitMQ queues.

import { problemOfQueueCondition } from './condition.ts';
import type { ProducedEvent } from './events.ts';
import { type DefinitionFile, type Definitions, problemAt } from './load-definitions.ts';
import { collegeOf, isQueueEvent, problemOfQueueEvent, queueFields } from './queue-events.ts';
import type { EventHandler, WorkflowDefinition } from './schema.ts';

type HandlerFile = DefinitionFile<EventHandler>;

/** Returns MDM's messages in the form of an event that a workflow produces. */
export function queueSource(handler: HandlerFile): ProducedEvent {
  return {
    source: handler as unknown as DefinitionFile<WorkflowDefinition>,
    path: ['event'],
    name: handler.definition.event,
    pattern: /^amqp_queue:[^?]*\.([0-9A-Za-z]+)\?/,
    payload: new Set(queueFields),
  };
}

/** Checks the handlers of RabbitMQ queues, individually and for consistency. Returns one line per problem. */
export function checkQueueHandlers({ eventHandlers }: Pick<Definitions, 'eventHandlers'>): string[] {
  const files = eventHandlers.filter(({ definition }) => isQueueEvent(definition.event));
  return [...files.flatMap(checkOne), ...checkPairs(files)];
}

function checkOne(file: HandlerFile): string[] {
  const { event, condition, actions } = file.definition;
  const badName = problemOfQueueEvent(event);
  if (badName !== undefined) return [problemAt(file, ['event'], badName)];
  if (condition === undefined) {
    return [
      problemAt(
        file,
        [],
        'a queue needs a condition that throws for anything but an update: such a message would be lost',
      ),
    ];
  }
  const wrong = problemOfQueueCondition(condition, collegeOf(event) ?? '');
  const badCondition = wrong === undefined ? [] : [problemAt(file, ['condition'], wrong)];
  // The engine records the actions of a message one by one: a second action starts after the first, and can be lost alone.
  return actions.length === 1 ? badCondition : [...badCondition, problemAt(file, ['actions'], 'must be one action')];
}

/**
 * Checks that two handlers listen to each event. The engine records a message as handled before it starts a workflow. When
 * it is killed in between, it takes the redelivered message for a duplicate. Two handlers have separate records, so at least
 * one of the two workflows is started in any case.
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
