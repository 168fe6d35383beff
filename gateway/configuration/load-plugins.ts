// Imports the plugins of gateway.config.yml and initialises them for one configuration.

import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin, Policy, PolicyDeclaration, RouterServices } from '../plugin-api/plugin-api.ts';
import type { FileProblems } from './file-problems.ts';
import { replacementOfPackage, replacementOfPolicy } from './replaced-names.ts';
import type { GatewayConfig } from '../plugin-api/gateway-config-schema.ts';
import { moduleExtension, productDir } from '#lib/config/folders.ts';
import { ProblemsError } from '#lib/config/problems-error.ts';
import { withDeadline } from '#lib/process/deadline.ts';
import { createPauses } from '#lib/process/pauses.ts';

/**
 * Time limit for the import of a plugin and, in a reload, also for its `init` and for each activation check, in
 * milliseconds. Without the limit, a plugin that hangs would hold up every later reload.
 */
export const pluginDeadlineMs = 60_000;

/** A plugin that has been imported but not initialised. */
export interface ImportedPlugin {
  readonly name: string;
  readonly plugin: Plugin;
  readonly settings: Record<string, unknown>;
}

/**
 * Imports the plugins without initialising them. Adds a problem for each plugin that cannot be imported.
 * @param rootDir folder of the gateway; relative package paths start there
 */
export async function importPlugins(
  { plugins, policies }: GatewayConfig,
  rootDir: string,
  problems: FileProblems,
): Promise<ImportedPlugin[]> {
  const imported: ImportedPlugin[] = [];
  for (const [name, { package: path, ...settings }] of Object.entries(plugins)) {
    const specifier = specifierOf(path, rootDir);
    const isRepeated = unfinishedImports.has(specifier);
    try {
      const plugin = await withDeadline('the import of its code', pluginDeadlineMs, importPlugin(specifier));
      if (isPlugin(plugin)) imported.push({ name, plugin, settings });
      else {
        const problem = `${path} must export version, policies (created with declarePolicy) and init`;
        problems.add(['plugins', name], `${problem}${hintOfRestart(plugin)}`);
      }
    } catch (error) {
      const problem = `${path} cannot be loaded: ${(error as Error).message}${isRepeated ? restartHint : hintOfRestart(error)}`;
      problems.add(['plugins', name], replacementOfPackage(path) ?? problem);
    }
  }
  const provided = imported.flatMap(({ name, plugin }) => plugin.policies.map((policy) => ({ name, policy })));
  for (const [index, { name, policy }] of provided.entries()) {
    if (provided.findIndex((other) => other.policy.name === policy.name) !== index)
      problems.add(['plugins', name], `policy "${policy.name}" is provided twice`);
  }
  for (const [index, policy] of policies.entries()) {
    if (!provided.some((each) => each.policy.name === policy))
      problems.add(['policies', index], replacementOfPolicy(policy) ?? `no plugin provides "${policy}"`);
  }
  return imported;
}

/**
 * Returns the module to import for a `package`: one of the gateway's files, a plugin that is part of the product,
 * or an installed package.
 */
function specifierOf(path: string, rootDir: string): string {
  const [, ofProduct] = /^service-router\/plugins\/([\w-]+)$/.exec(path) ?? [];
  if (ofProduct !== undefined)
    return pathToFileURL(join(productDir, 'plugins', ofProduct, `index${moduleExtension}`)).href;
  return /^[./]/.test(path) ? pathToFileURL(resolve(rootDir, path)).href : path;
}

/** Specifiers of the imports that have not ended: a second import of such a module waits for the same result. */
const unfinishedImports = new Set<string>();

function importPlugin(specifier: string): Promise<Plugin> {
  unfinishedImports.add(specifier);
  return (import(specifier) as Promise<Plugin>).finally(() => unfinishedImports.delete(specifier));
}

const restartHint = '; if this has been corrected, restart the router: Node has kept the old code';

/**
 * Modules that are not plugins, and errors that modules threw: Node returns or throws the same object when the module
 * is imported again.
 */
const faultyResults = new WeakSet<object>();

/**
 * Returns a hint to restart the router when the module was already faulty at an earlier import; else an empty string.
 */
function hintOfRestart(result: unknown): string {
  const object = Object(result) as object;
  if (faultyResults.has(object)) return restartHint;
  faultyResults.add(object);
  return '';
}

function isPlugin({ version, policies, init }: Partial<Plugin>): boolean {
  const isDeclared = ({ name, schema }: Partial<PolicyDeclaration>) =>
    typeof name === 'string' && typeof schema?.$id === 'string';
  return (
    typeof init === 'function' && typeof version === 'string' && Array.isArray(policies) && policies.every(isDeclared)
  );
}

/**
 * Calls `init` of each plugin. Yields to the event loop between the calls.
 * @param deadlineMs time limit for each `init`, in milliseconds; default: none
 * @returns the policies by name
 * @throws ProblemsError that lists every plugin whose `init` failed or did not end in time
 */
export async function initPlugins(
  plugins: readonly ImportedPlugin[],
  services: RouterServices,
  deadlineMs?: number,
): Promise<ReadonlyMap<string, Policy>> {
  const problems: string[] = [];
  const policies = new Map<string, Policy>();
  const pause = createPauses();
  for (const { plugin, settings, name } of plugins) {
    try {
      const registerPolicy = (policy: Policy) => void policies.set(policy.name, policy);
      const initialised = plugin.init({ settings, services, registerPolicy });
      await (deadlineMs === undefined ? initialised : withDeadline('init', deadlineMs, initialised));
      for (const declared of plugin.policies)
        if (!policies.has(declared.name)) problems.push(`plugins.${name}: init does not register "${declared.name}"`);
      await pause();
    } catch (error) {
      problems.push(`plugins.${name}: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new ProblemsError(problems);
  return policies;
}
