// The command `add-college`: adds the adaptor of a college to the properties of a gateway.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problemOfBackEndUrl } from '#lib/config/back-end-url.ts';
import type { LoadedConfig } from '#lib/config/load.ts';
import { problemOfTaskDomain } from '#lib/config/task-domain.ts';
import { isMisCode } from '#lib/config/mis-code.ts';
import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { pathsOf } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { actionOf } from '../../gateway/plugin-api/gateway-routes.ts';
import { type SoundFolder, soundFolder } from './check.ts';
import type { CommandContext, CommandDefinition } from '../command-definition.ts';
import { addDirOption, folderOf } from '../gateway/gateway-folder.ts';
import { setProperties } from '../edit/property-file.ts';
import { areCommitted, undoLine } from '../edit/undo.ts';
import { writeFilesVerified } from '../edit/write-files.ts';
import { CommandError, type Outcome } from '../outcome.ts';
import { alignColumns } from '../output/table.ts';

/** Address, task domain and gateway folder that the command line names. */
export interface AddCollegeOptions {
  readonly url: string;
  readonly domain?: string;
  readonly dir?: string;
}

/** The command `add-college`: writes everything that a college needs. */
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
  const folder = await soundFolder(dir, host.env, 'nothing was added: the gateway already had these problems');
  const path = pathOfCollege(college, folder);
  if (isConfigured(college, folder.loaded)) return describe(college, { folder, path, changed: [], undo: [] });
  const file = join(dir, propertyFile);
  const text = setProperties(readFileSync(file, 'utf8'), keysOf(college));
  const changed = [propertyFile];
  const undo = undoLine(dir, { changed, wereCommitted: areCommitted(dir, changed) });
  const check = () => soundFolder(dir, host.env, 'nothing was added');
  const verified = await writeFilesVerified(new Map([[file, text]]), check);
  return describe(college, { folder: verified, path, changed, undo: [undo] });
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
    ...(isMisCode(mis) ? [] : [`${JSON.stringify(mis)} is not an MIS code: 1 to 8 letters and digits`]),
    // Without the value, which may contain a password.
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

/** Returns the public path of a college. @throws CommandError when no route of the gateway leads to colleges */
function pathOfCollege({ mis }: College, { gateway }: SoundFolder): string {
  for (const { endpoint, steps } of gateway.routes) {
    const parameter = actionOf(steps, 'workflow')?.['domainOf'];
    const path = pathsOf(endpoint).at(-1);
    if (typeof parameter === 'string' && path !== undefined) return path.replace(`:${parameter}`, mis);
  }
  throw new CommandError([
    'no route of this gateway leads to college adaptors: set the parameter `domainOf` of the policy `workflow` in a route',
  ]);
}

interface Added {
  readonly folder: SoundFolder;
  readonly path: string;
  /** Empty when the college was already configured like this. */
  readonly changed: readonly string[];
  /** How to undo it; empty when nothing was changed. */
  readonly undo: readonly string[];
}

function describe(college: College, { folder, path, changed, undo }: Added): Outcome {
  const { mis, url, domain } = college;
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
        ['requests', `${path} → ${url}`],
        ['workers', `those with WORKERS_DOMAIN=${domain}`],
        [
          'MDM',
          handlers.length === 0
            ? 'no event handler shares cccids with this college'
            : `event handler ${handlers.join(', ')}`,
        ],
      ]),
      '',
      'npm start serves the college. In a deployment:',
      ...(handlers.length === 0 ? [] : ['- register the event handler with apply']),
      '- reload the routers, and run workers beside the adaptor',
      ...undo,
    ],
    json: { ok: true, college, path, eventHandlers: handlers, changed },
  };
}
