// Generates the tables of the engine API from its allow-list and from the OpenAPI description of worker calls.

import { allowedCalls } from '../../plugins/conductor/task-api/allow-list.ts';
import { workerCalls, workerSchemas } from '../../plugins/conductor/task-api/describe-worker-calls.ts';
import { defaultOf, type DescribedType, typeOf } from './described-type.ts';
import { code, table } from './markdown.ts';

/** Returns the generated parts of the page by name. */
export function formatEngineApi(): Record<string, string> {
  const calls = allowedCalls.map(({ method, path, scope, summary }) => [method, code(path), code(scope), summary]);
  const parameters = (workerCalls['batch-poll']?.parameters ?? []).map(({ name, schema, description = '' }) => [
    code(name),
    typeOf(schema as DescribedType),
    defaultOf(schema as DescribedType),
    description,
  ]);
  return {
    'allowed calls': table(['method', 'path', 'scope', 'purpose'], calls),
    'poll parameters': table(['parameter', 'type', 'default', 'meaning'], parameters),
    task: formatMembers('conductor.Task'),
    'task result': formatMembers('conductor.TaskResult'),
  };
}

function formatMembers(name: string): string {
  const { properties = {}, required = [] } = (workerSchemas[name] ?? {}) as DescribedType;
  const rows = Object.entries(properties).map(([member, type]) => [
    code(member),
    typeOf(type),
    required.includes(member) ? 'yes' : '',
    type.description ?? '',
  ]);
  return table(['member', 'type', 'required', 'meaning'], rows);
}
