// Inserts a YAML sample of a page into a gateway configuration, where a reader would insert it.

import { type Document, isMap, isSeq, parse, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';

type Action = Record<string, unknown> & { name?: string };

/**
 * Returns the gateway configuration with the sample in it. The sample adds sections, replaces parameters of the
 * `workflow` policy that starts the same workflow, or sets parameters of the `workflow` policy of the college adaptors.
 * @throws Error when no policy starts the workflow
 */
export function withSample(configuration: string, sample: string): string {
  const document = parseDocument(configuration);
  const added = parse(sample) as Record<string, unknown> | [{ workflow: [{ action: Action }] }];
  if (Array.isArray(added)) setParameters(document, added[0].workflow[0].action);
  else if ('versions' in added) setParameters(document, { name: 'college-adaptorWF', ...added });
  else addSections(document, added);
  return String(document);
}

function addSections(document: Document, sections: Record<string, unknown>): void {
  for (const [section, entries] of Object.entries(sections))
    if (Array.isArray(entries)) for (const entry of entries) document.addIn([section], entry);
    else for (const [name, value] of Object.entries(entries as object)) document.setIn([section, name], value);
}

function setParameters(document: Document, parameters: Action): void {
  const pipelines = (document.get('pipelines') as YAMLMap).items.flatMap(({ value }) =>
    isMap(value) && isSeq(value.get('policies')) ? [value.get('policies') as YAMLSeq] : [],
  );
  const actions = pipelines.flatMap(({ items }) =>
    items.flatMap((policy) => (isMap(policy) ? [policy.getIn(['workflow', 0, 'action'])] : [])),
  );
  const action = actions.filter(isMap).find((each) => each.get('name') === parameters.name);
  if (action === undefined) throw new Error(`no policy starts ${parameters.name}`);
  if ('versions' in parameters) action.delete('version');
  for (const [name, value] of Object.entries(parameters)) action.set(name, document.createNode(value));
}
