// Adds a route to the text of gateway.config.yml. The rest of the file, including comments and layout, stays unchanged.

import { isCollection, isMap, isNode, isPair, isScalar, parseDocument, stringify, type Pair, type YAMLMap } from 'yaml';
import { CommandError } from '../outcome.ts';

/** A route to a plain back end, as gateway.config.yml describes it. */
export interface RouteToAdd {
  /** Name of the apiEndpoint and of its pipeline. */
  readonly name: string;
  readonly summary: string;
  readonly paths: readonly string[];
  readonly methods: readonly string[];
  /** Name of the workflow; its version 1 is started. */
  readonly workflow: string;
  /** Prefix that is removed from the public path before the back end is called. */
  readonly strip: string;
  /** Scope required for methods that change data; none when absent. */
  readonly writeScope?: string | undefined;
  /** Path parameter that contains an MIS code; none when absent. */
  readonly misCodes?: string | undefined;
}

/**
 * Returns the text with an apiEndpoint and a pipeline for the route, each after the last existing one that starts a
 * workflow. The document is parsed only to find positions: if the YAML library wrote the file, it would reformat all of
 * it.
 * @param neighbours names of the apiEndpoints and pipelines that start a workflow
 * @throws CommandError when `apiEndpoints` or `pipelines` is not a map with one key per line
 */
export function addToGatewayConfig(text: string, route: RouteToAdd, neighbours: ReadonlySet<string>): string {
  const document = parseDocument(text);
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const insertions = [
    { key: 'apiEndpoints', lines: endpointLines(route) },
    { key: 'pipelines', lines: ['', ...pipelineLines(route)] },
  ].map(({ key, lines }) => {
    const map = document.get(key);
    if (!isMap(map) || map.flow === true)
      throw new CommandError([`gateway.config.yml: to add a route, ${key} must be a map with one key on each line`]);
    const { offset, indent } = placeIn(text, map, neighbours);
    return { offset, added: lines.map((line) => `${newline}${line === '' ? '' : indent + line}`).join('') };
  });
  // Text is inserted from the end to the beginning, so that the remaining offsets stay valid.
  return insertions
    .toSorted((one, other) => other.offset - one.offset)
    .reduce((edited, { offset, added }) => `${edited.slice(0, offset)}${added}${edited.slice(offset)}`, text);
}

function endpointLines({ name, summary, paths, methods }: RouteToAdd): string[] {
  return [
    `${inline(name)}:`,
    `  summary: ${inline(summary)}`,
    `  paths: ${inline(paths.length === 1 ? paths[0] : paths)}`,
    `  methods: ${inline(methods)}`,
  ];
}

function pipelineLines({ name, workflow, strip, writeScope, misCodes }: RouteToAdd): string[] {
  const scope = `    - action: ${inline({ writeScope })} # every method but GET, HEAD and OPTIONS`;
  const code = `    - action: ${inline({ parameter: misCodes })} # limits clients with client.<client id>.misCodes`;
  const policies = [
    '- bearer:',
    ...(writeScope === undefined ? [] : [scope]),
    '- rate-limit:',
    '    - action:',
    '        requests: ${router.rateLimitPerSecond} # per second and client',
    '- in-flight: # only clients with client.<client id>.maxInFlight',
    ...(misCodes === undefined ? [] : ['- mis-codes:', code]),
    '- workflow:',
    `    - action: ${inline({ name: workflow, version: 1, strip })}`,
  ];
  return [
    `${inline(name)}:`,
    `  apiEndpoints: ${inline([name])}`,
    '  policies:',
    ...policies.map((line) => `    ${line}`),
  ];
}

/** Returns a value as YAML on one line, with quotes around strings that YAML would otherwise read as something else. */
function inline(value: unknown): string {
  const flowCollectionPadding = !Array.isArray(value);
  return stringify(value, {
    collectionStyle: 'flow',
    flowCollectionPadding,
    lineWidth: 0,
    singleQuote: true,
  }).trimEnd();
}

/**
 * Returns the offset at which the last neighbour ends, and the indentation of the keys. Without a neighbour, the offset
 * is the end of the last entry.
 */
function placeIn(text: string, map: YAMLMap, neighbours: ReadonlySet<string>): { offset: number; indent: string } {
  const nameOf = ({ key }: Pair) => String(isScalar(key) ? key.value : key);
  const after = map.items.findLast((pair) => neighbours.has(nameOf(pair))) ?? map.items.at(-1);
  const keyStart = startOf(after?.key);
  const lineStart = text.lastIndexOf('\n', keyStart - 1) + 1;
  // The range of a block scalar includes its line breaks.
  const end = text.slice(0, endOf(after)).trimEnd().length;
  const lineEnd = /\r?\n|$/.exec(text.slice(end))?.index ?? 0;
  return { offset: end + lineEnd, indent: text.slice(lineStart, keyStart) };
}

function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

/** Returns the offset after the last character of a node. The range of a block collection ends only at the next key. */
function endOf(node: unknown): number {
  if (isPair(node)) return node.value === null ? endOf(node.key) : endOf(node.value);
  if (isCollection(node) && node.flow !== true && node.items.length > 0) return endOf(node.items.at(-1));
  return isNode(node) ? (node.range?.[1] ?? 0) : 0;
}
