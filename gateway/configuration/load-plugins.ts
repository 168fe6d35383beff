// Imports the plugins of gateway.config.yml and initialises them for one configuration.

import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin, Policy, PolicyDeclaration, RouterServices } from '../plugin-api/plugin-api.ts';
import type { FileProblems } from './file-problems.ts';
import { replacementOfPackage, replacementOfPolicy } from './replaced-names.ts';
import type { GatewayConfig } from '../plugin-api/gateway-config-schema.ts';
import { moduleExtension, productDir } from '#lib/config/folders.ts';
import { ProblemsError } from '#lib/config/problems-error.ts';
import { createPauses } from '#lib/process/pauses.ts';

/** A plugin that is imported but not initialised. */
export interface ImportedPlugin {
  readonly name: string;
  readonly plugin: Plugin;
  readonly settings: Record<string, unknown>;
}

/**
 * Imports the plugins without initialising them. Adds a problem for each plugin that cannot be imported.
 * @param rootDir folder of the gateway, where relative package paths begin
 */
export async function importPlugins(
  { plugins, policies }: GatewayConfig,
  rootDir: string,
  problems: FileProblems,
): Promise<ImportedPlugin[]> {
  const imported: ImportedPlugin[] = [];
  for (const [name, { package: path, ...settings }] of Object.entries(plugins)) {
    try {
      const plugin = (await import(specifierOf(path, rootDir))) as Plugin;
      if (isPlugin(plugin)) imported.push({ name, plugin, settings });
      else {
        const problem = `${path} must export version, policies (created with declarePolicy) and init`;
        problems.add(['plugins', name], `${problem}${hintOfRestart(plugin)}`);
      }
    } catch (error) {
      const problem = `${path} cannot be loaded: ${(error as Error).message}${hintOfRestart(error)}`;
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

/** Returns what to import for a `package`: a file of the gateway, a plugin of the product, or an installed package. */
function specifierOf(path: string, rootDir: string): string {
  const [, ofProduct] = /^service-router\/plugins\/([\w-]+)$/.exec(path) ?? [];
  if (ofProduct !== undefined)
    return pathToFileURL(join(productDir, 'plugins', ofProduct, `index${moduleExtension}`)).href;
  return /^[./]/.test(path) ? pathToFileURL(resolve(rootDir, path)).href : path;
}

/**
 * Modules that are not plugins, and errors that modules threw: Node gives the same object when the module is imported
 * again.
 */
const faultyResults = new WeakSet<object>();

/** Returns what an operator must know about a module that was already faulty when it was imported before. */
function hintOfRestart(result: unknown): string {
  const object = Object(result) as object;
  if (faultyResults.has(object)) return '; if this has been corrected, restart the router: Node has kept the old code';
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
 * Calls `init` of each plugin. Yields to the event loop in between.
 * @returns the policies by name
 * @throws ProblemsError that lists every plugin that failed
 */
export async function initPlugins(
  plugins: readonly ImportedPlugin[],
  services: RouterServices,
): Promise<ReadonlyMap<string, Policy>> {
  const problems: string[] = [];
  const policies = new Map<string, Policy>();
  const pause = createPauses();
  for (const { plugin, settings, name } of plugins) {
    try {
      await plugin.init({ settings, services, registerPolicy: (policy) => policies.set(policy.name, policy) });
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
