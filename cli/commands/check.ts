// The command `check`: validates configuration, routes and definitions without an engine.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeConfig, type ConfigLine } from '#lib/config/describe.ts';
import { ConfigError, loadConfig, type LoadedConfig } from '#lib/config/load.ts';
import { adaptorDomains } from '#lib/config/adaptor-domains.ts';
import { checkDefinitions } from '#lib/conductor/definitions/check-definitions.ts';
import { type Definitions, readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { type Route, type TimeoutBudgetStep, timeoutBudget } from '#lib/conductor/definitions/timeouts.ts';
import type { GatewayValidation } from '../../gateway/configuration/validate-gateway.ts';
import { CommandError, type Outcome } from '../outcome.ts';
import { addDirOption, folderOf } from '../gateway/gateway-folder.ts';
import { writeWarnings } from '../gateway/command-config.ts';
import { gatewayFile } from '../gateway/read-gateway.ts';
import { alignColumns, countOf } from '../output/table.ts';
import { timedRoutes } from '../gateway/timed-routes.ts';
import type { CommandDefinition, CommandContext } from '../command-definition.ts';
import { withDeprecatedMembers } from '../output/deprecated-members.ts';

/** Options of `check`: the gateway to read, and whether to print the effective configuration. */
export interface CheckOptions {
  readonly dir?: string;
  readonly config?: boolean;
}

/** The command `check`: finds problems in a checkout, without an engine. */
export const check: CommandDefinition<CheckOptions> = {
  name: 'check',
  description: 'Validate configuration, gateway.config.yml, definitions and timeouts. Needs no engine.',
  exitCodes: { 0: 'nothing is wrong', 1: 'something is wrong; every problem is listed on stderr' },
  examples: [
    { command: 'check', does: 'run it before every commit and every deployment' },
    { command: 'check --config', does: 'show the value of each key and its source' },
    { command: 'check --dir ../candidate', does: 'check another gateway, or another checkout of this one' },
  ],
  addOptions: (command) =>
    addDirOption(command).option(
      '--config',
      'also print the effective configuration: each key, its value and its source',
    ),
  run: runCheck,
};

const defaultFile = 'gateway.config.yml';

/** The contents of a folder, and all problems in it. */
interface CheckedFolder {
  readonly loaded: LoadedConfig | undefined;
  readonly gateway: GatewayValidation | undefined;
  readonly routes: readonly Route[];
  readonly definitions: Definitions;
  readonly timeouts: readonly TimeoutBudgetStep[];
  readonly problems: readonly string[];
}

/** A folder without problems. */
export interface SoundFolder extends CheckedFolder {
  readonly loaded: LoadedConfig;
  readonly gateway: GatewayValidation;
}

/** Runs the command. */
export async function runCheck(options: CheckOptions, { host }: Pick<CommandContext, 'host'>): Promise<Outcome> {
  const checked = await checkFolder(folderOf(options), host.env);
  const { loaded, timeouts, problems } = checked;
  const warnings = loaded?.warnings ?? [];
  writeWarnings(host.stderr, warnings);
  const configuration = loaded === undefined ? [] : describeConfig(loaded);
  const timeOuts = timeouts.map(timeoutToJson);
  const json = { ok: problems.length === 0, problems, warnings, timeOuts, configuration };
  if (problems.length > 0) return { exitCode: 1, lines: [...problems, '', countOf(problems.length, 'problem')], json };
  const table = options.config === true ? ['', ...describeConfiguration(configuration)] : [];
  return { exitCode: 0, lines: [...summary(checked), '', ...describeTimeouts(timeouts), ...table], json };
}

/** Reads a folder and runs all checks. Checks that need a valid configuration are skipped when it is not valid. */
async function checkFolder(dir: string, env: NodeJS.ProcessEnv): Promise<CheckedFolder> {
  const definitions = readDefinitions(dir);
  const loaded = await loadConfig({ env, rootDir: dir }).catch((error: unknown) => {
    if (error instanceof ConfigError) return error;
    throw error;
  });
  if (loaded instanceof ConfigError) {
    // gateway.config.yml refers to values of the configuration, so it cannot be validated without them.
    const missing = existsSync(resolve(dir, defaultFile)) ? [] : [`${defaultFile}: there is no such file`];
    const problems = [...loaded.problems, ...missing, ...checkDefinitions(definitions)];
    return { loaded: undefined, gateway: undefined, routes: [], definitions, timeouts: [], problems };
  }
  const { config } = loaded;
  // Imported here because only some commands need the plugins, which load slowly.
  const { validateGateway } = await import('../../gateway/configuration/validate-gateway.ts');
  const gateway = await validateGateway(gatewayFile(config, dir));
  const routes = timedRoutes(gateway, config['router.responseDeadlineMs']);
  const context = {
    backEndTimeoutMs: config['workers.backEndTimeoutMs'],
    domains: adaptorDomains(config),
    routes,
  };
  const problems = [...gateway.problems.lines, ...checkDefinitions(definitions, context)];
  return { loaded, gateway, routes, definitions, timeouts: timeoutBudget(definitions, context), problems };
}

/**
 * Reads a folder that a command is about to change, or has changed.
 * @throws CommandError with every problem in the folder, followed by `conclusion`
 */
export async function soundFolder(dir: string, env: NodeJS.ProcessEnv, conclusion: string): Promise<SoundFolder> {
  const folder = await checkFolder(dir, env);
  const { loaded, gateway, problems } = folder;
  if (problems.length === 0 && loaded !== undefined && gateway !== undefined) return { ...folder, loaded, gateway };
  throw new CommandError([...problems, '', conclusion]);
}

function summary({ loaded, gateway, routes, definitions }: CheckedFolder): string[] {
  const set = Object.keys(loaded?.origins ?? {}).length;
  const { workflows, taskDefs, eventHandlers } = definitions;
  return alignColumns([
    ['configuration', `${countOf(set, 'key')} set, all others at their defaults`],
    [
      'gateway.config.yml',
      `${countOf(gateway?.steps.size ?? 0, 'pipeline')}, ${new Set(routes.map(({ name }) => name)).size} with a workflow`,
    ],
    [
      'definitions',
      [
        countOf(workflows.length, 'workflow'),
        countOf(taskDefs.length, 'task type'),
        countOf(eventHandlers.length, 'event handler'),
      ].join(', '),
    ],
  ]).map((line) => `ok  ${line}`);
}

function timeoutToJson({ taskType, route, backEndMs, responseMs }: TimeoutBudgetStep): Record<string, unknown> {
  const { name, workflow, version, responseDeadlineMs, writes } = route ?? {};
  const step = { route: name, workflow, version, writes, taskType, backEndMs, responseMs, responseDeadlineMs };
  return withDeprecatedMembers(step);
}

function describeTimeouts(timeouts: readonly TimeoutBudgetStep[]): string[] {
  const seconds = (ms: number) => `${ms / 1_000} s`;
  const rows = timeouts.map(({ taskType, route, backEndMs, responseMs }) => [
    taskType,
    route === undefined ? '-' : `${route.name} (${route.writes ? 'writes' : 'reads'})`,
    seconds(backEndMs),
    seconds(responseMs),
    route === undefined ? '-' : seconds(route.responseDeadlineMs),
  ]);
  // Workflow versions with the same tasks produce equal lines.
  return [...new Set(alignColumns([['timeouts', 'route', 'back end', 'task', 'client'], ...rows]))];
}

function describeConfiguration(lines: readonly ConfigLine[]): string[] {
  return alignColumns([
    ['configuration', 'value', 'from'],
    ...lines.map(({ key, value, origin }) => [key, value ?? '-', origin]),
  ]);
}
