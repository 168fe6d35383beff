// The effective map: what a request on each public path goes through, with the values of the configuration filled in.

import type { Config } from '#lib/config/schema.ts';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import { findWorkflow, taskTypesOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import { pathsOf, type PipelineStep } from '../gateway/plugin-api/gateway-config-schema.ts';
import { actionOf, type GatewayRoute } from '../gateway/plugin-api/gateway-routes.ts';

/** One apiEndpoint of the map. What a pipeline does not have is absent. */
export interface MappedRoute {
  /** Name of the apiEndpoint, as in metrics and logs. */
  readonly route: string;
  readonly paths: readonly string[];
  /** Absent: every method. */
  readonly methods?: readonly string[];
  /** The host this endpoint is for; absent: any. */
  readonly host?: string;
  readonly access: Access;
  readonly workflow?: MappedWorkflow;
  /** How long a client waits, milliseconds. */
  readonly waitBudgetMs?: number;
  readonly lane?: Lane;
  readonly limits: Limits;
  /** Policies that stand behind a condition: `rate-limit if pathMatch`. */
  readonly conditions: readonly string[];
}

/** What the route starts: one version, or several by their shares of the clients. */
export interface MappedWorkflow {
  readonly name: string;
  readonly version?: number;
  readonly versions?: Readonly<Record<string, number>>;
  /** Of all versions; absent when one of them is in no file. */
  readonly taskTypes?: readonly string[];
}

/** Whom the route lets in. */
export interface Access {
  /** False: no access token is asked for. */
  readonly token: boolean;
  /** All of them are needed. */
  readonly scopes: readonly string[];
  /** One of them is needed. */
  readonly anyScope: readonly string[];
  /** Needed besides by every method but GET, HEAD and OPTIONS. */
  readonly writeScope?: string;
}

/** Which share of the limits, and which circuit breaker, the route's back ends have. */
export interface Lane {
  /** `movies`; for a back end each, `adaptor :mis`. */
  readonly name: string;
  /** Task domain by the value of the path parameter; others go to the default pool. */
  readonly domains: Readonly<Record<string, string>>;
}

export interface Limits {
  /** Requests in a window, of each client or of all together. */
  readonly rates: readonly { readonly by: string; readonly requests: number; readonly windowSeconds: number }[];
  /** Requests at a time; a client's own limit is not in the map. */
  readonly inFlight: readonly { readonly by: string; readonly requests: number }[];
  /** The path parameter that is held against the MIS codes of the client. */
  readonly misCodes?: string;
  /** Of routes with a workflow; others have limits of their own. */
  readonly maxBodyBytes?: number;
  readonly maxAnswerBytes?: number;
}

/** The versions that a route may start. */
export function versionsOf({ version, versions }: MappedWorkflow): number[] {
  return versions === undefined ? [version ?? Number.NaN] : Object.keys(versions).map(Number);
}

/** Every route as operators are shown it. */
export function mapRoutes(routes: readonly GatewayRoute[], config: Config, definitions: Definitions): MappedRoute[] {
  return routes.map(({ name: route, endpoint, steps }) => {
    const { host, methods } = endpoint;
    return {
      route,
      paths: pathsOf(endpoint),
      ...(methods === undefined ? {} : { methods }),
      ...(host === undefined ? {} : { host }),
      access: accessOf(steps),
      ...workflowOf(steps, config, definitions),
      ...laneOf(route, steps, config),
      limits: limitsOf(steps, config),
      conditions: steps.flatMap(({ policy, condition }) => (condition ? [`${policy} if ${condition.name}`] : [])),
    };
  });
}

function accessOf(steps: readonly PipelineStep[]): Access {
  const action = actionOf(steps, 'bearer');
  const { scopes = [], anyScope = [], writeScope } = (action ?? {}) as Partial<Access>;
  return { token: action !== undefined, scopes, anyScope, ...(writeScope === undefined ? {} : { writeScope }) };
}

function workflowOf(
  steps: readonly PipelineStep[],
  config: Config,
  definitions: Definitions,
): Pick<MappedRoute, 'workflow' | 'waitBudgetMs'> {
  const action = actionOf(steps, 'workflow');
  if (action === undefined) return {};
  const name = String(action['name']);
  const { shares = new Map<number, number>(), isSplit = false } = readPinnedVersions(action).pinned ?? {};
  const [version = Number.NaN] = shares.keys();
  const files = [...shares.keys()].map((each) => findWorkflow(definitions, { name, version: each }));
  const taskTypes = files.flatMap((file) => (file === undefined ? [] : taskTypesOf(file.definition)));
  return {
    workflow: {
      name,
      ...(isSplit ? { versions: Object.fromEntries(shares) } : { version }),
      ...(files.includes(undefined) ? {} : { taskTypes: [...new Set(taskTypes)] }),
    },
    waitBudgetMs: Number(action['waitBudgetMs'] ?? config['router.waitBudgetMs']),
  };
}

function laneOf(route: string, steps: readonly PipelineStep[], config: Config): Pick<MappedRoute, 'lane'> {
  const action = actionOf(steps, 'admission');
  if (action === undefined) return {};
  const parameter = action['backEndOf'];
  const name = parameter === undefined ? route : `${route} :${String(parameter)}`;
  const hasDomains = actionOf(steps, 'workflow')?.['domainOf'] !== undefined;
  return { lane: { name, domains: hasDomains ? domainsOf(config) : {} } };
}

/** `adaptor.<mis>.domain` by MIS code. */
function domainsOf(config: Config): Record<string, string> {
  const entries = Object.entries(config).flatMap(([key, value]) => {
    const code = /^adaptor\.([0-9A-Za-z]{1,8})\.domain$/.exec(key)?.[1];
    return code === undefined ? [] : [[code, String(value)] as const];
  });
  return Object.fromEntries(entries);
}

function limitsOf(steps: readonly PipelineStep[], config: Config): Limits {
  const limitsBy = (policy: string) =>
    steps
      .filter((step) => step.policy === policy && step.action?.['requests'] !== undefined)
      .map(({ action = {} }) => ({
        by: String(action['by'] ?? 'client'),
        requests: Number(action['requests']),
        action,
      }));
  const parameter = actionOf(steps, 'mis-codes')?.['parameter'];
  const bodies = { maxBodyBytes: config['router.maxBodyBytes'], maxAnswerBytes: config['router.maxAnswerBytes'] };
  return {
    rates: limitsBy('rate-limit').map(({ action, ...limit }) => ({
      ...limit,
      windowSeconds: Number(action['perSeconds'] ?? 1),
    })),
    inFlight: limitsBy('in-flight').map(({ by, requests }) => ({ by, requests })),
    ...(parameter === undefined ? {} : { misCodes: String(parameter) }),
    ...(actionOf(steps, 'workflow') === undefined ? {} : bodies),
  };
}
