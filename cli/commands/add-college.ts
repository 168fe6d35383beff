// The command `add-college`: adds the adaptor of a college to the properties of a gateway.

import { join } from 'node:path';
import { taskTypeOfBackEnd } from '#lib/config/back-end-name.ts';
import { problemOfBackEndUrl } from '#lib/config/back-end-url.ts';
import { backEndsOf, keyOfBackEnd } from '#lib/config/back-ends.ts';
import type { LoadedConfig } from '#lib/config/load.ts';
import { problemOfTaskDomain } from '#lib/config/task-domain.ts';
import { isMisCode } from '#lib/config/mis-code.ts';
import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { taskTypesOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import { pathsOf } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { actionsOf } from '../../gateway/plugin-api/gateway-routes.ts';
import { type SoundFolder, soundFolder } from './check.ts';
import type { CommandContext, CommandDefinition } from '../command-definition.ts';
import { addDirOption, folderOf } from '../gateway/gateway-folder.ts';
import { setProperties } from '../edit/property-file.ts';
import { areCommitted, undoLine } from '../edit/undo.ts';
import { readIfExists, writeFilesVerified } from '../edit/write-files.ts';
import { CommandError, type Outcome } from '../outcome.ts';
import { listWords } from '../output/list-words.ts';
import { alignColumns } from '../output/table.ts';

/** Options of `add-college`: the adaptor's address, the task domain and the gateway folder. */
export interface AddCollegeOptions {
  readonly url: string;
  readonly domain?: string;
  readonly dir?: string;
}

/** The command `add-college`: writes the configuration that a college needs. */
export const addCollege: CommandDefinition<AddCollegeOptions> = {
  name: 'add-college',
  description: 'Add a college: the address of its adaptor, and the task domain of its workers.',
  exitCodes: {
    0: 'the college is configured, and `check` finds nothing wrong',
    1: 'refused; no file was changed',
  },
  examples: [
    {
      command: 'add-college 003 --url http://adaptor.internal:8080',
      does: 'route /adaptor/003/… to that adaptor, and let MDM share cccids with it',
    },
    {
      command: 'add-college 003 --url http://adaptor.internal:8080 --domain campus-b',
      does: 'use workers that serve several colleges',
    },
  ],
  addOptions: (command) =>
    addDirOption(command)
      .argument('<mis>', 'MIS code of the college: 1 to 8 letters and digits')
      .requiredOption('--url <url>', 'base URL of its adaptor (http or https)')
      .option('--domain <domain>', 'task domain of the workers at the adaptor (default: the MIS code)'),
  run: runAddCollege,
};

const propertyFile = 'config/default.properties';

async function runAddCollege(options: AddCollegeOptions, { args, host }: CommandContext): Promise<Outcome> {
  const dir = folderOf(options);
  const college = readCollege(args[0] ?? '', options);
  // The file is read before the checks: if it changes after this point, it is not written, so the result of the checks
  // stays valid.
  const before = readIfExists(join(dir, propertyFile));
  const folder = await soundFolder(dir, host.env, 'nothing was added: the gateway already had these problems');
  const targets = targetsOf(college, folder);
  if (isConfigured(college, folder.loaded)) return describe(college, { folder, targets, changed: [], undo: [] });
  const after = setProperties(before ?? '', keysOf(college));
  const changed = [propertyFile];
  const undo = undoLine(dir, { changed, wereCommitted: areCommitted(dir, changed) });
  const check = () => soundFolder(dir, host.env, 'nothing was added');
  const verified = await writeFilesVerified(dir, new Map([[propertyFile, { before, after }]]), check);
  return describe(college, { folder: verified, targets, changed, undo: [undo] });
}

interface College {
  readonly mis: string;
  readonly url: string;
  readonly domain: string;
}

function keysOf({ mis, url, domain }: College): Record<string, string> {
  return { [`adaptor.${mis}.url`]: url, [`adaptor.${mis}.domain`]: domain };
}

/** @throws CommandError that lists everything that is wrong */
function readCollege(mis: string, { url, domain = mis }: AddCollegeOptions): College {
  const wrongUrl = problemOfBackEndUrl(url);
  const wrongDomain = problemOfTaskDomain(domain);
  const problems = [
    ...(isMisCode(mis) ? [] : [`${JSON.stringify(mis)} is not an MIS code: use 1 to 8 letters and digits`]),
    // The message omits the URL, because it may contain a password.
    ...(wrongUrl === null ? [] : [`--url ${wrongUrl}`]),
    ...(wrongDomain === null || domain === mis ? [] : [`--domain ${wrongDomain}`]),
  ];
  if (problems.length > 0) throw new CommandError(problems);
  return { mis, url, domain };
}

/**
 * Returns whether the college already has these values.
 * @throws CommandError when it has different values
 */
function isConfigured(college: College, { config, origins }: LoadedConfig): boolean {
  const values = config as Readonly<Record<string, unknown>>;
  const keys = Object.entries(keysOf(college));
  const set = keys.filter(([key]) => origins[key] !== undefined);
  if (set.length === 0) return false;
  if (keys.every(([key, value]) => values[key] === value)) return true;
  throw new CommandError([
    `the college ${college.mis} already exists with other values; change or remove these first:`,
    ...set.map(([key]) => `  ${key}=${String(values[key])} (${origins[key] ?? ''})`),
  ]);
}

/** Where the requests to a public path of a college go. */
interface Target {
  readonly path: string;
  /** The address, or the keys from which the workers of the college read it. */
  readonly to: string;
  readonly isAdaptor: boolean;
}

/**
 * Returns the public paths that lead to a college, those to its adaptor first.
 * @throws CommandError when no route of the gateway leads to colleges
 */
function targetsOf({ mis, url }: College, { gateway, definitions, loaded }: SoundFolder): Target[] {
  const plain = new Map(Object.keys(backEndsOf(loaded.config)).map((name) => [taskTypeOfBackEnd(name), name]));
  const targets = gateway.routes.flatMap(({ endpoint, steps }) =>
    actionsOf(steps, 'workflow').flatMap(({ name: workflow, domainOf }): Target[] => {
      const path = pathsOf(endpoint).at(-1);
      if (typeof domainOf !== 'string' || path === undefined) return [];
      const ofWorkflow = definitions.workflows.filter(({ definition }) => definition.name === workflow);
      const backEnds = ofWorkflow.flatMap(({ definition }) =>
        taskTypesOf(definition).flatMap((type) => plain.get(type) ?? []),
      );
      const keys = [...new Set(backEnds.map(keyOfBackEnd))];
      const to = keys.length === 0 ? url : `the workers below, which have the address in ${listWords(keys)}`;
      return [{ path: path.replace(`:${domainOf}`, mis), to, isAdaptor: keys.length === 0 }];
    }),
  );
  if (targets.length > 0) return targets.toSorted((one, other) => Number(other.isAdaptor) - Number(one.isAdaptor));
  throw new CommandError([
    'no route of this gateway leads to college adaptors: set the parameter `domainOf` of the policy `workflow` in a route',
  ]);
}

interface Added {
  readonly folder: SoundFolder;
  /** At least one. */
  readonly targets: readonly Target[];
  /** Empty when the college was already configured like this. */
  readonly changed: readonly string[];
  /** How to undo the change; empty when nothing was changed. */
  readonly undo: readonly string[];
}

function describe(college: College, { folder, targets, changed, undo }: Added): Outcome {
  const { mis, domain } = college;
  const handlers = forColleges(folder.definitions, folder.loaded.config)
    .eventHandlers.map(({ definition }) => definition.name)
    .filter((name) => name.endsWith(`-${mis}`));
  return {
    exitCode: 0,
    lines: [
      ...(changed.length === 0 ? [`college ${mis} is already configured like this; nothing was changed`] : []),
      ...changed.map((file) => `changed  ${file}`),
      '',
      ...alignColumns([
        ...targets.map(({ path, to }, index) => [index === 0 ? 'requests' : '', `${path} → ${to}`]),
        ['workers', `those with WORKERS_DOMAIN=${domain}`],
        [
          'MDM',
          handlers.length === 0
            ? 'no event handler shares cccids with this college'
            : `event handler ${handlers.join(', ')}`,
        ],
      ]),
      '',
      'If you use npm start, restart it; nothing else is needed. In a deployment:',
      ...(handlers.length === 0 ? [] : ['- register the event handler with apply']),
      `- reload the routers, and run workers beside the ${targets.some(({ isAdaptor }) => isAdaptor) ? 'adaptor' : 'back end'}`,
      ...undo,
    ],
    json: { ok: true, college, path: targets[0]?.path, eventHandlers: handlers, changed },
  };
}
