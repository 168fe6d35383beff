// The command `add-route`: adds a route to a plain back end to the files of a gateway.

import { relative } from 'node:path';
import type { Command } from 'commander';
import { taskTypeOfBackEnd } from '#lib/config/back-end-name.ts';
import { keyOfBackEnd } from '#lib/config/back-ends.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { pathsOf } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { type SoundFolder, soundFolder } from './check.ts';
import type { CommandContext, CommandDefinition } from '../command-definition.ts';
import { addToGatewayConfig, type RouteToAdd } from '../edit/gateway-config.ts';
import { pathsOverlap } from '../edit/paths-overlap.ts';
import { setProperties } from '../edit/property-file.ts';
import { routeDefinitions } from '../edit/route-definitions.ts';
import { areCommitted, undoLine } from '../edit/undo.ts';
import { editFile, type FileChange, writeFilesVerified } from '../edit/write-files.ts';
import { addDirOption, folderOf } from '../gateway/gateway-folder.ts';
import { type AddRouteOptions, readRoute } from '../input/route.ts';
import { CommandError, type Outcome } from '../outcome.ts';
import { gatewayFile } from '../gateway/read-gateway.ts';
import { alignColumns } from '../output/table.ts';

/** The file that receives the back end's address: the first layer of the configuration. */
const propertyFile = 'config/default.properties';

/** The command `add-route`: writes everything that a route to a plain back end needs. */
export const addRoute: CommandDefinition<AddRouteOptions> = {
  name: 'add-route',
  description: 'Add a route to a back end: its definitions, its endpoint and pipeline, and its address.',
  exitCodes: { 0: 'the files are written, and `check` finds nothing wrong', 1: 'refused; no file was changed' },
  examples: [
    {
      command: 'add-route catalog --path /catalog/:course_id --methods GET --url http://127.0.0.1:8099/courses',
      does: 'route GET /catalog/ENGL-C1000 to GET http://127.0.0.1:8099/courses/ENGL-C1000',
    },
    {
      command:
        "add-route orders --path '/orders,/orders/*' --methods GET,POST --url https://orders.example --write-scope orders_w",
      does: 'add a route with writes that require a scope',
    },
  ],
  addOptions: (command: Command) =>
    addDirOption(command)
      .argument('<name>', 'name of the route, its endpoint and its pipeline; its task type is <name>_intake')
      .requiredOption('--path <path>', 'public paths, comma-separated: plain segments, :parameters, * at the end')
      .requiredOption('--methods <methods>', 'accepted methods, comma-separated: GET, POST, PUT, PATCH, DELETE')
      .requiredOption('--url <url>', 'base URL of the back end (http or https)')
      .option(
        '--strip <prefix>',
        'leading part of the path that the back end does not see (default: its first segment)',
      )
      .option('--write-scope <scope>', 'scope of the access token for every method but GET (default: none)')
      .option(
        '--mis-codes <parameter>',
        'path parameter that is an MIS code; client.<id>.misCodes then limits the codes that a client may use (default: none)',
      )
      .option(
        '--summary <text>',
        'one line for readers of the OpenAPI document (default: a line that names the back end)',
      ),
  run: runAddRoute,
};

async function runAddRoute(options: AddRouteOptions, { args, host }: CommandContext): Promise<Outcome> {
  const dir = folderOf(options);
  const { route, url } = readRoute(args[0] ?? '', options);
  const folder = await soundFolder(dir, host.env, 'nothing was added: the gateway already had these problems');
  const taken = await findTaken(route, { folder, dir });
  if (taken.length > 0) throw new CommandError(taken);
  const key = keyOfBackEnd(route.name);
  const created = newFiles(route, folder);
  const changed = changedFiles({ route, folder, dir, properties: { [key]: url } });
  const written = { created: [...created.keys()], changed: [...changed.keys()] };
  const undoable = { ...written, wereCommitted: areCommitted(dir, written.changed) };
  const check = () => soundFolder(dir, host.env, 'nothing was added');
  await writeFilesVerified(dir, new Map([...created, ...changed]), check);
  return describe(route, { url, key, ...written, undo: undoLine(dir, undoable) });
}

/**
 * Returns one line that lists all names and keys of the route that are already used, if there are any, and one line for
 * each overlap of paths.
 */
async function findTaken(
  route: RouteToAdd,
  { folder: { loaded, gateway, definitions }, dir }: { folder: SoundFolder; dir: string },
): Promise<string[]> {
  const { name, workflow } = route;
  // Imported here because workers load slowly.
  const { findWorkers } = await import('../../workers/gateway-workers.ts');
  const { workers: ofProduct } = await import('../../workers/index.ts');
  // The product's workers serve their task types as soon as a gateway defines those task types.
  const workers = { ...ofProduct, ...(await findWorkers(dir)) };
  const taskType = taskTypeOfBackEnd(name);
  const key = keyOfBackEnd(name);
  const { apiEndpoints = {}, pipelines = {} } = gateway.gatewayConfig ?? {};
  const origin = loaded.origins[key];
  const existing = [
    ...(Object.hasOwn(apiEndpoints, name) ? ['the apiEndpoint'] : []),
    ...(Object.hasOwn(pipelines, name) ? ['the pipeline'] : []),
    ...definitions.taskDefs.filter(({ definition }) => definition.name === taskType).map(({ file }) => file),
    ...definitions.workflows.filter(({ definition }) => definition.name === workflow).map(({ file }) => file),
    ...(taskType in workers ? [`the worker of ${taskType}`] : []),
    ...(origin === undefined ? [] : [`${key} (${origin})`]),
  ];
  const names = existing.length === 0 ? [] : [`the name ${name} is already used by ${existing.join(', ')}`];
  return [...names, ...gateway.routes.flatMap((other) => describeOverlaps(route, other))];
}

function describeOverlaps(
  { paths }: RouteToAdd,
  { name, endpoint }: SoundFolder['gateway']['routes'][number],
): string[] {
  const pairs = paths.flatMap((path) => pathsOf(endpoint).map((other) => [path, other] as const));
  return pairs
    .filter(([path, other]) => pathsOverlap(path, other))
    .map(([path, other]) => `--path: ${path} overlaps ${other} of the route ${name}`);
}

/** Returns the definition files, by path below the folder. */
function newFiles({ name, methods }: RouteToAdd, { loaded, definitions }: SoundFolder): Map<string, FileChange> {
  const writes = methods.some((method) => !isSafeMethod(method));
  const texts = routeDefinitions({ name, writes, config: loaded.config, definitions });
  return new Map([...texts].map(([file, after]) => [file, { before: undefined, after }]));
}

interface Change {
  readonly route: RouteToAdd;
  readonly folder: SoundFolder;
  readonly dir: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Returns the changes to files that already exist, by path below the folder. */
function changedFiles({ route, folder: { loaded, gateway }, dir, properties }: Change): Map<string, FileChange> {
  const ofWorkflows = gateway.routes.filter(({ workflow }) => workflow !== undefined);
  const neighbours = new Set(ofWorkflows.flatMap(({ name, pipeline }) => [name, pipeline]));
  const gatewayConfig = relative(dir, gatewayFile(loaded.config, dir).file);
  return new Map([
    [gatewayConfig, editFile(dir, gatewayConfig, (text) => addToGatewayConfig(text, route, neighbours))],
    [propertyFile, editFile(dir, propertyFile, (text) => setProperties(text, properties))],
  ]);
}

interface Written {
  readonly url: string;
  /** The property that holds the URL. */
  readonly key: string;
  readonly created: readonly string[];
  readonly changed: readonly string[];
  /** How to undo the changes. */
  readonly undo: string;
}

function describe(
  { name, paths, methods, strip, writeScope }: RouteToAdd,
  { url, key, created, changed, undo }: Written,
): Outcome {
  const base = url.replace(/\/+$/, '');
  const targets = paths.map((path) => [methods.join(', '), path, '→', `${base}${path.slice(strip.length)}`]);
  const isOpen = writeScope === undefined && methods.some((method) => !isSafeMethod(method));
  return {
    exitCode: 0,
    lines: [
      ...created.map((file) => `new      ${file}`),
      ...changed.map((file) => `changed  ${file}`),
      '',
      ...alignColumns(targets),
      ...(isOpen ? ['every client with a token may write there; use --write-scope to require a scope'] : []),
      '',
      `If you use npm start, restart it; nothing else is needed. In a deployment: register the definitions with apply, and set ${key} for the workers.`,
      undo,
    ],
    json: { ok: true, route: name, paths, methods, strip, key, url, created, changed },
  };
}
