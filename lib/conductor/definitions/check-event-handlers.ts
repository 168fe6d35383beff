// Checks event handlers against workflows: events have a producer, targets exist, and task domains are correct.

import { type ProducedEvent, producedEvents } from './events.ts';
import { problemOfCondition } from './condition.ts';
import { findExpressions, findUnclosedExpressions } from './expressions.ts';
import { domainPlaceholder, isTemplate, misPlaceholder } from './for-colleges.ts';
import type { Path } from './json-text.ts';
import { type DefinitionFile, type Definitions, problemAt } from './load-definitions.ts';
import type { EventHandler } from './schema.ts';
import { findWorkflow, taskTypesOf } from './workflow-tasks.ts';

type HandlerFile = DefinitionFile<EventHandler>;
type StartWorkflow = EventHandler['actions'][number]['start_workflow'];

/** Task domains of colleges by MIS code (`adaptor.<mis>.domain`). Default: the MIS code itself. */
export type Domains = Readonly<Record<string, string>>;

/**
 * Checks all handlers against the workflows.
 * @param domains when undefined, task domains are not checked
 * @returns one line per problem
 */
export function checkEventHandlers(definitions: Definitions, domains: Domains | undefined): string[] {
  const events = producedEvents(definitions);
  return [
    ...definitions.eventHandlers.flatMap((file) => checkHandler(file, { definitions, events, domains })),
    ...unheardEvents(definitions, events),
  ];
}

interface Context {
  readonly definitions: Definitions;
  readonly events: readonly ProducedEvent[];
  readonly domains: Domains | undefined;
}

function checkHandler(file: HandlerFile, context: Context): string[] {
  const { event, condition, actions } = file.definition;
  const problems: string[] = [];
  const report = (path: Path, message: string) => problems.push(problemAt(file, path, message));
  const sources = context.events.filter(({ pattern }) => pattern.test(event));
  if (sources.length === 0) report(['event'], `no EVENT task produces this event${namesOf(context.events)}`);
  const wrong = condition === undefined ? undefined : problemOfCondition(condition);
  if (wrong !== undefined) report(['condition'], wrong);
  for (const [index, { start_workflow: start }] of actions.entries()) {
    const path = ['actions', index, 'start_workflow'];
    for (const [step, message] of checkStart(start, sources, context)) report([...path, ...step], message);
    for (const [step, message] of checkDomain(file, start, { ...context, events: sources })) {
      report([...path, ...step], message);
    }
  }
  return problems;
}

type StartProblem = readonly [path: Path, message: string];

function checkStart(start: StartWorkflow, sources: readonly ProducedEvent[], { definitions }: Context): StartProblem[] {
  const { input, correlationId } = start;
  const findings: StartProblem[] = findUnclosedExpressions({ input, correlationId });
  for (const { path, text, steps } of findExpressions({ input, correlationId })) {
    const field = steps[0] ?? '';
    const missing = sources.find(({ payload }) => !payload.has(field));
    if (missing) findings.push([path, `\${${text}}: the event of ${missing.source.file} carries no "${field}"`]);
  }
  const target = findWorkflow(definitions, start);
  if (target === undefined)
    return [...findings, [['name'], `there is no workflow ${start.name} version ${start.version}`]];
  const { inputParameters } = target.definition;
  for (const name of Object.keys(start.input)) {
    if (!inputParameters.includes(name)) {
      findings.push([['input', name], `"${name}" is not among the inputParameters of ${target.file}`]);
    }
  }
  for (const name of inputParameters) {
    if (!Object.hasOwn(start.input, name)) findings.push([['input'], `${target.file} needs "${name}"`]);
  }
  return findings;
}

/**
 * Checks the task domain of a handler. The domain is a constant, because the engine cannot take it from the event.
 * Therefore, an event whose name contains an MIS code has one handler per college. The handler comes from a template or
 * has its own file. The name, the event and the domain of such a handler must agree.
 */
function checkDomain(
  file: HandlerFile,
  start: StartWorkflow,
  { definitions, events, domains }: Context,
): StartProblem[] {
  const target = findWorkflow(definitions, start);
  if (target === undefined || events.length === 0) return [];
  const code = events
    .map(({ pattern }) => pattern.exec(file.definition.event)?.[1])
    .find((group) => group !== undefined);
  const wrong = problemOfName(file.definition, code);
  const named: StartProblem[] = wrong === undefined ? [] : [[[], wrong]];
  if (domains === undefined) return named;
  const domain = code === undefined ? undefined : ({ ...domains, [misPlaceholder]: domainPlaceholder }[code] ?? code);
  const expected =
    domain === undefined ? {} : Object.fromEntries(taskTypesOf(target.definition).map((type) => [type, domain]));
  if (sameEntries(start.taskToDomain, expected)) return named;
  const why = code === undefined ? 'the default pool runs these tasks' : `workers for ${code} poll this domain`;
  return [...named, [['taskToDomain'], `must be ${JSON.stringify(expected)}: ${why}`]];
}

function problemOfName(handler: EventHandler, code: string | undefined): string | undefined {
  if (isTemplate(handler) && code !== misPlaceholder)
    return `the name contains ${misPlaceholder}, so the event must contain it too`;
  if (code === undefined || handler.name.endsWith(`-${code}`)) return undefined;
  return `the event belongs to college ${code}, so the handler's name must end in "-${code}"`;
}

/**
 * Reports events without a handler. Such events stay in their queue. When a handler is registered later, it processes
 * all of them.
 */
function unheardEvents({ eventHandlers }: Definitions, events: readonly ProducedEvent[]): string[] {
  return events
    .filter(({ pattern }) => !eventHandlers.some(({ definition }) => pattern.test(definition.event)))
    .map(({ source, path, name }) => problemAt(source, path, `no event handler listens to ${name}`));
}

function namesOf(events: readonly ProducedEvent[]): string {
  return events.length === 0 ? '' : ` (produced: ${[...new Set(events.map(({ name }) => name))].join(', ')})`;
}

function sameEntries(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}
