// Builds the effective route table: the policies and limits of each public path, with configuration values filled in.

import { adaptorDomains } from '#lib/config/adaptor-domains.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import { findWorkflow, taskTypesOf } from '#lib/conductor/definitions/workflow-tasks.ts';
import type { Gateway } from '../../gateway/configuration/validate-gateway.ts';
import { pathsOf, type PipelineStep } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { actionsOf } from '../../gateway/plugin-api/gateway-routes.ts';
import type { RouteLimits } from '../../gateway/plugin-api/policy.ts';

/** One apiEndpoint of the gateway configuration. A property is absent when the pipeline has no policy that sets it. */
export interface RouteTableEntry {
  /** Name of the apiEndpoint, as in metrics and logs. */
  readonly route: string;
  readonly paths: readonly string[];
  /** Absent when the route accepts every method. */
  readonly methods?: readonly string[];
  /** Host of the endpoint; absent when it accepts any host. */
  readonly host?: string;
  /** The `bearer` steps. A request must satisfy every step whose condition it meets. */
  readonly bearer: readonly BearerStep[];
  /** The first entry of `bearer`, in the older format, which has room for only one. */
  readonly access: Access;
  /**
   * The workflows that the route starts, one for each step: a step with a condition serves only some of the requests.
   */
  readonly workflows: readonly RoutedWorkflow[];
  /** The first entry of `workflows`, in the older format, which has room for only one. */
  readonly workflow?: WorkflowTarget;
  readonly responseDeadlineMs?: number;
  readonly bulkhead?: RouteBulkhead;
  readonly limits: RouteLimits & Required<Pick<RouteLimits, 'rates' | 'inFlight'>>;
  /** Policies with a condition: `rate-limit if pathMatch`. */
  readonly conditions: readonly string[];
}

/** The workflow that a route starts: one version, or several versions by their share of the clients. */
export interface WorkflowTarget {
  readonly name: string;
  readonly version?: number;
  readonly versions?: Readonly<Record<string, number>>;
  /** Task types of all versions; absent when a version is not defined in any file. */
  readonly taskTypes?: readonly string[];
}

/** A workflow of a route, with the parameters of the step that starts it. */
export interface RoutedWorkflow extends WorkflowTarget {
  /** Response deadline in milliseconds. */
  readonly responseDeadlineMs: number;
  readonly bulkhead: RouteBulkhead;
}

/** What a `bearer` step requires of the access token. */
export interface BearerStep {
  /** The token needs all of these scopes. */
  readonly scopes: readonly string[];
  /** The token needs one of these scopes. */
  readonly anyScope: readonly string[];
  /** Scope that every method except GET, HEAD and OPTIONS requires in addition. */
  readonly writeScope?: string;
  /** Condition of the step with its parameters: `method PATCH`. */
  readonly condition?: string;
}

/** What the route requires of a client. */
export interface Access extends Omit<BearerStep, 'condition'> {
  /** False when the route needs no access token. */
  readonly token: boolean;
}

/** The bulkhead of a route: its share of the concurrency limits and its circuit breaker. */
export interface RouteBulkhead {
  /** `movies`, or `adaptor :mis` for one bulkhead per back end. */
  readonly name: string;
  /** Task domain by the value of the path parameter; tasks for other values go to the default worker pool. */
  readonly domains: Readonly<Record<string, string>>;
}

/** Returns the workflow versions that a route may start. */
export function versionsOf({ version, versions }: WorkflowTarget): number[] {
  return versions === undefined ? [version ?? Number.NaN] : Object.keys(versions).map(Number);
}

/** Returns an entry for each route, in the order of the gateway configuration. */
export function createRouteTable(
  { routes, declarations }: Pick<Gateway, 'routes' | 'declarations'>,
  config: Config,
  definitions: Definitions,
): RouteTableEntry[] {
  return routes.map(({ name: route, endpoint, steps }) => {
    const { host, methods } = endpoint;
    const bearer = bearerSteps(steps);
    const workflows = actionsOf(steps, 'workflow').map((action) => ({
      ...targetOf(action, definitions),
      responseDeadlineMs: deadlineOf(action, config),
      bulkhead: bulkheadOf(route, action, config),
    }));
    return {
      route,
      paths: pathsOf(endpoint),
      ...(methods === undefined ? {} : { methods }),
      ...(host === undefined ? {} : { host }),
      bearer,
      access: accessOf(bearer),
      workflows,
      ...describeFirst(workflows),
      limits: limitsOf(steps, declarations, config),
      conditions: steps.flatMap(({ policy, condition }) => (condition ? [`${policy} if ${condition.name}`] : [])),
    };
  });
}

function bearerSteps(steps: readonly PipelineStep[]): BearerStep[] {
  return steps
    .filter(({ policy }) => policy === 'bearer')
    .map(({ action, condition }) => {
      const { scopes = [], anyScope = [], writeScope } = action as Partial<BearerStep>;
      return {
        ...{ scopes, anyScope },
        ...(writeScope === undefined ? {} : { writeScope }),
        ...(condition === undefined ? {} : { condition: describeCondition(condition) }),
      };
    });
}

/** Returns a condition with its parameters: `not (method GET POST)`. */
function describeCondition({ name, ...parameters }: NonNullable<PipelineStep['condition']>): string {
  const values = Object.values(parameters as Record<string, unknown>).flat();
  const words = values.map((value) =>
    typeof value === 'object' && value !== null
      ? `(${describeCondition(value as NonNullable<PipelineStep['condition']>)})`
      : String(value),
  );
  return [name, ...words].join(' ');
}

function accessOf([first]: readonly BearerStep[]): Access {
  if (first === undefined) return { token: false, scopes: [], anyScope: [] };
  const { condition: _condition, ...access } = first;
  return { token: true, ...access };
}

function describeFirst(
  workflows: readonly RoutedWorkflow[],
): Pick<RouteTableEntry, 'workflow' | 'responseDeadlineMs' | 'bulkhead'> {
  const [first] = workflows;
  if (first === undefined) return {};
  const { responseDeadlineMs, bulkhead, ...workflow } = first;
  return { workflow, responseDeadlineMs, bulkhead };
}

function targetOf(action: PipelineStep['action'], definitions: Definitions): WorkflowTarget {
  const name = String(action['name']);
  const { shares = new Map<number, number>(), isSplit = false } = readPinnedVersions(action).pinned ?? {};
  const [version = Number.NaN] = shares.keys();
  const files = [...shares.keys()].map((each) => findWorkflow(definitions, { name, version: each }));
  const taskTypes = files.flatMap((file) => (file === undefined ? [] : taskTypesOf(file.definition)));
  return {
    name,
    ...(isSplit ? { versions: Object.fromEntries(shares) } : { version }),
    ...(files.includes(undefined) ? {} : { taskTypes: [...new Set(taskTypes)] }),
  };
}

function deadlineOf(action: PipelineStep['action'], config: Config): number {
  return Number(action['responseDeadlineMs'] ?? action['waitBudgetMs'] ?? config['router.responseDeadlineMs']);
}

function bulkheadOf(route: string, action: PipelineStep['action'], config: Config): RouteBulkhead {
  const { backEndOf } = (action['admission'] ?? {}) as { backEndOf?: string };
  const parameter = backEndOf ?? action['domainOf'];
  const name = parameter === undefined ? route : `${route} :${String(parameter)}`;
  return { name, domains: action['domainOf'] === undefined ? {} : adaptorDomains(config) };
}

/** Combines the limits of the steps, as their policies declare them. */
function limitsOf(
  steps: readonly PipelineStep[],
  declarations: Gateway['declarations'],
  config: Config,
): RouteTableEntry['limits'] {
  const limits = steps.map(({ policy, action }) => declarations.get(policy)?.limits?.(action as never, config) ?? {});
  const rates = limits.flatMap((own) => own.rates ?? []);
  const inFlight = limits.flatMap((own) => own.inFlight ?? []);
  return Object.assign({ rates, inFlight }, ...limits, { rates, inFlight }) as RouteTableEntry['limits'];
}
