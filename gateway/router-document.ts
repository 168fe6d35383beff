// From the checked map and its policies to the OpenAPI document.

import { readFileSync } from 'node:fs';
import { buildInSteps, type DescribedEndpoint } from '../contract/build-document.ts';
import type { OpenApiDocument } from '../contract/openapi.ts';
import type { Policy } from './contract.ts';
import { describedEndpoint } from './described-endpoint.ts';
import type { GatewayConfig, PipelineStep } from './gateway-config-schema.ts';
import { createPauses } from './generation/pauses.ts';

/** The document, built once. */
export class RouterDocument {
  #built: OpenApiDocument | undefined;

  /**
   * Called once every plugin is initialised. It gives other work its turn between its steps.
   * @throws Error when something cannot be described
   */
  async build(...parts: Parameters<typeof describeEndpoints>): Promise<void> {
    const steps = buildInSteps(describeEndpoints(...parts), versionOfProduct());
    const pause = createPauses();
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return void (this.#built = step.value);
      await pause();
    }
  }

  /** @throws Error when it is too early */
  read(): OpenApiDocument {
    if (this.#built === undefined) throw new Error('the document is there once all plugins are initialised');
    return this.#built;
  }
}

function describeEndpoints(
  { apiEndpoints, pipelines }: GatewayConfig,
  steps: ReadonlyMap<string, readonly PipelineStep[]>,
  policies: ReadonlyMap<string, Policy>,
): DescribedEndpoint[] {
  return Object.entries(apiEndpoints).map(([name, endpoint]) => {
    const [pipeline = ''] =
      Object.entries(pipelines).find(([, { apiEndpoints: served }]) => served.includes(name)) ?? [];
    return {
      ...describedEndpoint(name, endpoint),
      summary: endpoint.summary,
      policies: (steps.get(pipeline) ?? []).map(
        ({ policy, action }) => policies.get(policy)?.describe?.(action as never) ?? {},
      ),
    };
  });
}

function versionOfProduct(): string {
  const packageFile = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
}
