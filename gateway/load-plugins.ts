// Imports the plugins of gateway.config.yml, gathers their policies and checks every policy's parameters.

import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import type { Plugin, Policy, RouterServices } from './contract.ts';
import { expressGateway } from './express-gateway.ts';
import { type GatewayConfig, type PipelineStep, stepsOf } from './gateway-config-schema.ts';
import { createPauses } from './generation/pauses.ts';
import { parameterCheck } from './parameter-checks.ts';

/** What came of loading: the policies by name, and everything that is wrong. */
export interface LoadedPlugins {
  readonly policies: ReadonlyMap<string, Policy>;
  readonly plugins: readonly { plugin: Plugin; settings: Record<string, unknown>; name: string }[];
  readonly problems: readonly string[];
}

/**
 * Imports plugins without starting anything.
 * @param rootDir relative package paths resolve against it
 */
export async function importPlugins(config: GatewayConfig, rootDir: string): Promise<LoadedPlugins> {
  const problems: string[] = [];
  const plugins: LoadedPlugins['plugins'][number][] = [];
  for (const [name, { package: path, ...settings }] of Object.entries(config.plugins)) {
    try {
      const specifier = path.startsWith('.') ? pathToFileURL(resolve(rootDir, path)).href : path;
      const plugin = (await import(specifier)) as Plugin;
      if (typeof plugin.init !== 'function' || typeof plugin.version !== 'string' || !Array.isArray(plugin.policies)) {
        problems.push(`plugins.${name}: ${path} does not export version, policies and init`);
      } else plugins.push({ plugin, settings, name });
    } catch (error) {
      problems.push(`plugins.${name}: ${path} cannot be loaded: ${(error as Error).message}`);
    }
  }
  const provided = new Set(plugins.flatMap(({ plugin }) => plugin.policies));
  for (const policy of config.policies) {
    if (!provided.has(policy)) problems.push(`policies: no plugin provides "${policy}"`);
  }
  return { policies: new Map(), plugins, problems };
}

/**
 * Runs each plugin's `init`, then checks the parameters of every step; defaults are filled in. It gives other work its
 * turn between its steps.
 * @returns the policies by name and, per pipeline, its steps with checked parameters
 */
export async function initPlugins(
  config: GatewayConfig,
  loaded: LoadedPlugins,
  services: RouterServices,
): Promise<LoadedPlugins & { steps: Map<string, PipelineStep[]> }> {
  const problems = [...loaded.problems];
  const policies = new Map<string, Policy>();
  const pause = createPauses();
  for (const { plugin, settings, name } of loaded.plugins) {
    const registerPolicy = (policy: Policy) => {
      if (policies.has(policy.name)) problems.push(`plugins.${name}: policy "${policy.name}" is provided twice`);
      policies.set(policy.name, policy);
    };
    try {
      await plugin.init({ settings, services, registerPolicy });
      await pause();
    } catch (error) {
      problems.push(`plugins.${name}: ${(error as Error).message}`);
    }
  }
  const steps = new Map(Object.keys(config.pipelines).map((name) => [name, stepsOf(config, name)]));
  for (const step of [...steps.values()].flat()) {
    problems.push(...checkParameters(step, policies.get(step.policy)), ...checkCondition(step));
    await pause();
  }
  return { ...loaded, policies, problems, steps };
}

function checkParameters(step: PipelineStep, policy: Policy | undefined): string[] {
  if (policy === undefined) return [];
  const validate = parameterCheck(policy.schema);
  if (validate(step.action)) {
    const found = policy.check?.(step.action as never) ?? [];
    return found.map((problem) => `${step.path}.action: ${problem}`);
  }
  return (validate.errors ?? []).map((error) => {
    const unknown = error.params['additionalProperty'] as string | undefined;
    const where = `${step.path}.action${error.instancePath.replaceAll('/', '.')}`;
    return unknown === undefined ? `${where}: ${error.message}` : `${where}: unknown parameter "${unknown}"`;
  });
}

/** Express Gateway mounts a policy with an asynchronous condition behind its successors: such a condition is refused. */
function checkCondition({ condition, path }: PipelineStep): string[] {
  if (condition === undefined) return [];
  const create = expressGateway().conditions.conditions[condition.name];
  if (create === undefined) return [`${path}.condition: there is no condition "${condition.name}"`];
  try {
    const created: unknown = create(condition);
    return created instanceof Promise
      ? [`${path}.condition: "${condition.name}" is asynchronous and would be mounted out of order`]
      : [];
  } catch (error) {
    return [`${path}.condition: ${(error as Error).message}`];
  }
}
